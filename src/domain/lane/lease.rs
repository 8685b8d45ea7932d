//! Who is at a lane: one node at a time.

use entity::delivery::{self, Entity as Deliveries};
use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;
use sea_orm::UpdateMany;

use super::{Carrier, DeliveryState, Kind, Lane, State};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::error::Result;

/// How long whoever is at it may be silent, in milliseconds: another node takes it over then.
pub(super) const LEASE: Millis = 30_000;

/// A lane that is this node's for now.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub lane: i64,
    lease_no: i64,
}

/// Takes a lane; nothing where it is not to be sent to, or another node is at it.
pub(super) async fn claim(app: &App, id: i64) -> Result<Option<(Lease, Lane)>> {
    let now = app.now();
    transaction!(app.db, |txn| {
        let Some(mut of) = Lanes::find_by_id(id).for_update(txn).one(txn).await? else { return Ok(None) };
        if is_held(&of, now) || of.state != State::Active || of.open_until > now {
            return Ok(None);
        }
        of.lease_no += 1;
        let take = Lanes::update_many().col_expr(Column::LeaseNo, Expr::val(of.lease_no));
        until(take, now + LEASE).filter(Column::Id.eq(id)).exec(txn).await?;
        Ok(Some((Lease { lane: id, lease_no: of.lease_no }, of)))
    })
}

/// Has the lane be due when the lease is over: where its owner has died without a word, nobody else knows what was due of it.
fn until(to: UpdateMany<Lanes>, end: Millis) -> UpdateMany<Lanes> {
    to.col_expr(Column::LeaseUntil, Expr::val(end)).col_expr(Column::DueAt, Expr::val(end))
}

/// A lease that is longer than can be was taken by a clock that went wrong.
fn is_held(of: &Lane, now: Millis) -> bool {
    of.lease_until > now && of.lease_until <= now + 2 * LEASE
}

impl Lease {
    /// Locks the lane for a step, and returns how it is now; nothing where it is not this node's any more, which may do nothing then.
    pub async fn hold(&self, txn: &Transaction, now: Millis) -> Result<Option<Lane>> {
        let of = Lanes::find_by_id(self.lane).for_update(txn).one(txn).await?;
        let Some(of) = of.filter(|of| of.lease_no == self.lease_no) else { return Ok(None) };
        if of.lease_until < now + LEASE * 2 / 3 {
            until(Lanes::update_many(), now + LEASE).filter(Column::Id.eq(self.lane)).exec(txn).await?;
        }
        Ok(Some(of))
    }

    /// Keeps it, where nothing else has to be written; false where it is not this node's any more.
    pub(super) async fn renew(&self, app: &App) -> Result<bool> {
        transaction!(app.db, |txn| Ok(self.hold(txn, app.now()).await?.is_some()))
    }

    /// Lets it go, and says when there is something to do again.
    pub(super) async fn release<C: Carrier>(self, app: &App) -> Result<()> {
        transaction!(app.db, |txn| {
            let Some(of) = self.hold(txn, app.now()).await? else { return Ok(()) };
            let fresh = next_due(txn, self.lane, DeliveryState::Fresh).await?;
            let retrying = next_due(txn, self.lane, DeliveryState::Retrying).await?;
            let expands = C::expands_at(txn, self.lane).await?;
            let due_at = [fresh, retrying, expands].into_iter().flatten().min().map(|at| at.max(of.open_until));
            let free = Lanes::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
            let free = free.col_expr(Column::DueAt, Expr::val(due_at)).filter(Column::Id.eq(self.lane));
            free.exec(txn).await?;
            Ok(())
        })
    }
}

/// The first of its deliveries in a state: the beginning of a range of `delivery_due_at`.
async fn next_due(txn: &Transaction, lane: i64, state: DeliveryState) -> Result<Option<Millis>> {
    use delivery::Column;
    let of = Deliveries::find().filter(Column::LaneId.eq(lane)).filter(Column::State.eq(state));
    let first = of.order_by_asc(Column::DueAt).limit(1).select_only().column(Column::DueAt);
    Ok(first.into_tuple().one(txn).await?)
}

/// Locks all lanes of a tenant of a kind, in the order of their rows, so that two who do so do not wait for each other.
pub async fn lock_all(txn: &Transaction, tenant: entity::ids::TenantId, kind: Kind) -> Result<Vec<Lane>> {
    let of = Lanes::of_tenant(tenant).filter(Column::Kind.eq(kind));
    Ok(of.order_by_asc(Column::Id).for_update(txn).all(txn).await?)
}

//! Leases: one node at a time works on a destination.

use entity::delivery::{self, Entity as Deliveries};
use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;
use sea_orm::UpdateMany;

use super::{DeliveryState, Destination, DestinationKind, DestinationState, Transport};
use base::clock::Millis;
use base::error::Result;
use store::{Store, Transaction, transaction};

/// How long a lease lasts without renewal, in milliseconds. Then another node may take the destination over.
pub(super) const LEASE: Millis = 30_000;

/// This node's lease on a destination.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub destination: i64,
    lease_no: i64,
}

/// Takes the lease. `None` if another node holds it, or the destination is not active or is backing off.
pub(super) async fn claim_lease(store: &Store, id: i64) -> Result<Option<(Lease, Destination)>> {
    let now = store.now();
    transaction!(store.db, |txn| {
        let Some(mut of) = Destinations::find_by_id(id).for_update(txn).one(txn).await? else { return Ok(None) };
        if is_held(&of, now) || of.state != DestinationState::Active || of.open_until > now {
            return Ok(None);
        }
        of.lease_no += 1;
        let take = Destinations::update_many().col_expr(Column::LeaseNo, Expr::val(of.lease_no));
        set_lease_end(take, now + LEASE).filter(Column::Id.eq(id)).exec(txn).await?;
        Ok(Some((Lease { destination: id, lease_no: of.lease_no }, of)))
    })
}

/// Sets the lease's end. The destination is due then, so that another node takes over if this one dies.
fn set_lease_end(to: UpdateMany<Destinations>, end: Millis) -> UpdateMany<Destinations> {
    to.col_expr(Column::LeaseUntil, Expr::val(end)).col_expr(Column::DueAt, Expr::val(end))
}

/// A lease that ends later than any valid one was set by a broken clock, and does not count.
fn is_held(of: &Destination, now: Millis) -> bool {
    of.lease_until > now && of.lease_until <= now + 2 * LEASE
}

impl Lease {
    /// Locks the destination for a step, renews the lease once a third of it has passed, and returns the row. `None` if
    /// the lease is lost; the caller must then stop.
    pub async fn lock_destination(&self, txn: &Transaction, now: Millis) -> Result<Option<Destination>> {
        let of = Destinations::find_by_id(self.destination).for_update(txn).one(txn).await?;
        let Some(of) = of.filter(|of| of.lease_no == self.lease_no) else { return Ok(None) };
        if of.lease_until < now + LEASE * 2 / 3 {
            set_lease_end(Destinations::update_many(), now + LEASE)
                .filter(Column::Id.eq(self.destination))
                .exec(txn)
                .await?;
        }
        Ok(Some(of))
    }

    /// Renews the lease when there is nothing else to write. Returns false if it is lost.
    pub(super) async fn renew(&self, store: &Store) -> Result<bool> {
        transaction!(store.db, |txn| Ok(self.lock_destination(txn, store.now()).await?.is_some()))
    }

    /// Releases the lease and sets when the destination is due next.
    pub(super) async fn release<C: Transport>(self, store: &Store) -> Result<()> {
        transaction!(store.db, |txn| {
            let Some(of) = self.lock_destination(txn, store.now()).await? else { return Ok(()) };
            let fresh = next_due_at(txn, self.destination, DeliveryState::Fresh).await?;
            let retrying = next_due_at(txn, self.destination, DeliveryState::Retrying).await?;
            let expands = C::next_fan_out_at(txn, self.destination).await?;
            let due_at = [fresh, retrying, expands].into_iter().flatten().min().map(|at| at.max(of.open_until));
            let free = Destinations::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
            let free = free.col_expr(Column::DueAt, Expr::val(due_at)).filter(Column::Id.eq(self.destination));
            free.exec(txn).await?;
            Ok(())
        })
    }
}

/// When the destination's first delivery in this state is due: the beginning of a range of `delivery_due_at`.
async fn next_due_at(txn: &Transaction, destination: i64, state: DeliveryState) -> Result<Option<Millis>> {
    use delivery::Column;
    let of = Deliveries::find().filter(Column::LaneId.eq(destination)).filter(Column::State.eq(state));
    let first = of.order_by_asc(Column::DueAt).limit(1).select_only().column(Column::DueAt);
    Ok(first.into_tuple().one(txn).await?)
}

/// Locks all of a tenant's destinations of one kind, in the order of their ids, so that two callers cannot deadlock.
pub async fn lock_destinations(
    txn: &Transaction,
    tenant: entity::ids::TenantId,
    kind: DestinationKind,
) -> Result<Vec<Destination>> {
    let of = Destinations::of_tenant(tenant).filter(Column::Kind.eq(kind));
    Ok(of.order_by_asc(Column::Id).for_update(txn).all(txn).await?)
}

//! Moves a destination's cursor forward in the log.

use entity::delivery::Column;
use entity::ids::Seq;
use entity::lane::{self, Entity as Lanes};
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};

use super::lease::Lease;
use super::{Carrier, DeliveryState, Event, Lane, Part, State};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};

/// Log entries per step.
const STEP: i64 = 500;

/// A delivery to insert.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub event: Event,
    /// The recipient's address, or 0 if the delivery has none.
    pub contact: i64,
    pub subject: i64,
    pub seq: Option<Seq>,
    pub at: Millis,
    pub due_at: Millis,
}

/// The result of a step.
pub(super) struct Taken {
    /// The destination's row, read before its cursor moved.
    pub lane: Lane,
    /// Whether the log has more entries.
    pub has_more: bool,
}

/// Processes the next step of the log. `None` if the lease is lost.
pub(super) async fn take<C: Carrier>(app: &App, tenant: &Tenant, lease: Lease) -> Result<Option<Taken>> {
    transaction!(app.db, |txn| {
        let now = app.now();
        let Some(lane) = lease.hold(txn, now).await? else { return Ok(None) };
        let has_more = lane.state == State::Active && step::<C>(txn, app, tenant, &lane, now).await?;
        Ok(Some(Taken { lane, has_more }))
    })
}

/// Returns whether the log has more entries.
async fn step<C: Carrier>(txn: &Transaction, app: &App, tenant: &Tenant, of: &Lane, now: Millis) -> Result<bool> {
    let head = Tenants::of_tenant(tenant.id).select_only();
    let head = head.columns([tenant::Column::LastSeq, tenant::Column::SweptSeq]);
    let head = head.into_tuple::<(Seq, Seq)>().one(txn).await?;
    let (end, swept) = head.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    if end < of.cursor_seq {
        // The database was restored to an earlier state. The cursor continues from the end of the restored log.
        return move_to(txn, of, end).await.map(|()| false);
    }
    let after = of.cursor_seq.max(swept.min(end));
    let upto = end.min(app.gaps.read().step(tenant.id, after, STEP));
    if upto == of.cursor_seq {
        return Ok(false);
    }
    C::take(txn, app, tenant, of, Part { after, upto, now }).await?;
    move_to(txn, of, upto).await.map(|()| upto < end)
}

async fn move_to(txn: &Transaction, of: &Lane, cursor: Seq) -> Result<()> {
    let to = Lanes::update_many().col_expr(lane::Column::CursorSeq, Expr::val(cursor));
    to.filter(lane::Column::Id.eq(of.id)).exec(txn).await?;
    Ok(())
}

/// Inserts deliveries. Existing ones stay as they are.
pub async fn write(txn: &Transaction, tenant: &Tenant, lane: i64, told: Vec<Told>, now: Millis) -> Result<()> {
    let columns = [
        Column::TenantId,
        Column::LaneId,
        Column::ContactId,
        Column::Event,
        Column::SubjectId,
        Column::Seq,
        Column::HappenedAt,
        Column::State,
        Column::DueAt,
        Column::CreatedAt,
    ];
    let row = |told: Told| {
        [
            tenant.id.into(),
            lane.into(),
            told.contact.into(),
            told.event.into(),
            told.subject.into(),
            told.seq.into(),
            told.at.into(),
            DeliveryState::Fresh.into(),
            told.due_at.into(),
            now.into(),
        ]
    };
    insert(txn, columns, told.into_iter().map(row).collect(), Existing::Kept).await?;
    Ok(())
}

//! Moves a destination's cursor forward in the log.

use entity::delivery::Column;
use entity::destination::{self, Entity as Destinations};
use entity::ids::Seq;
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};

use super::lease::Lease;
use super::{DeliveryEvent, DeliveryState, Destination, DestinationState, LogRange, Transport};
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use store::{Transaction, transaction};

/// Log entries per step.
const STEP: i64 = 500;

/// A delivery to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewDelivery {
    pub event: DeliveryEvent,
    /// The recipient's address, or 0 if the delivery has none.
    pub contact: i64,
    pub subject: i64,
    pub seq: Option<Seq>,
    pub at: Millis,
    pub due_at: Millis,
}

/// The result of a step.
pub(super) struct LogStep {
    /// The destination's row, read before its cursor moved.
    pub destination: Destination,
    /// Whether the log has more entries.
    pub has_more: bool,
}

/// Processes the next step of the log. `None` if the lease is lost.
pub(super) async fn run_log_step<C: Transport>(
    context: &DeliveryContext,
    tenant: &Tenant,
    lease: Lease,
) -> Result<Option<LogStep>> {
    transaction!(context.db, |txn| {
        let now = context.now();
        let Some(destination) = lease.lock_destination(txn, now).await? else { return Ok(None) };
        let has_more = destination.state == DestinationState::Active
            && process_entries::<C>(txn, context, tenant, &destination, now).await?;
        Ok(Some(LogStep { destination, has_more }))
    })
}

/// Returns whether the log has more entries.
async fn process_entries<C: Transport>(
    txn: &Transaction,
    context: &DeliveryContext,
    tenant: &Tenant,
    of: &Destination,
    now: Millis,
) -> Result<bool> {
    let head = Tenants::of_tenant(tenant.id).select_only();
    let head = head.columns([tenant::Column::LastSeq, tenant::Column::SweptSeq]);
    let head = head.into_tuple::<(Seq, Seq)>().one(txn).await?;
    let (end, swept) = head.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    if end < of.cursor_seq {
        // The database was restored to an earlier state. The cursor continues from the end of the restored log.
        return save_cursor(txn, of, end).await.map(|()| false);
    }
    let after = of.cursor_seq.max(swept.min(end));
    let upto = end.min(context.gaps.read().advance(tenant.id, after, STEP));
    if upto == of.cursor_seq {
        return Ok(false);
    }
    C::schedule_deliveries(txn, context, tenant, of, LogRange { after, upto, now }).await?;
    save_cursor(txn, of, upto).await.map(|()| upto < end)
}

async fn save_cursor(txn: &Transaction, of: &Destination, cursor: Seq) -> Result<()> {
    let to = Destinations::update_many().col_expr(destination::Column::CursorSeq, Expr::val(cursor));
    to.filter(destination::Column::Id.eq(of.id)).exec(txn).await?;
    Ok(())
}

/// Inserts deliveries. Existing ones stay as they are.
pub async fn insert_deliveries(
    txn: &Transaction,
    tenant: &Tenant,
    destination: i64,
    told: Vec<NewDelivery>,
    now: Millis,
) -> Result<()> {
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
    let row = |told: NewDelivery| {
        [
            tenant.id.into(),
            destination.into(),
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
    insert(txn, columns, told.into_iter().map(row).collect(), ExistingRows::Kept).await?;
    Ok(())
}

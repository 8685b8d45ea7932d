//! Counters of sent notifications: how many inboxes received one, and how many users have read it.
//!
//! Readers and syncs never write to the notification's row, since they would wait for its lock. They insert a row of
//! their own: a *span* for a range of an inbox that arrived or was read at once, or a *tally* for single items. In the
//! background, spans are settled into tallies item by item, and tallies are added to the notifications
//! (`update_counters`), and by the hour for large audiences (`load_hours`). A sync of many users over few log entries
//! writes tallies directly.
//!
//! A span is valid only as long as its items keep their state. Before single items change, the user's spans are
//! settled, under the lock of the user's row that is held anyway. If an endpoint of the tenant subscribes to
//! `item.read`, spans are settled by reader, and the transaction that adds tallies also writes the webhooks (`told`).
//! All functions except the background task require that the users' rows are locked.

mod audience;
mod collect;
mod flush;
mod hourly;
mod queries;
mod read_webhooks;

use entity::ids::{ChannelId, Seq, TypeId, UserId};
use entity::prelude::*;
use entity::{notification, tally, tally_span};
use sea_orm::sea_query::CaseStatement;

use super::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
pub use collect::{flush_all, update_counters};
pub use flush::{flush_up_to, flush_users};
pub use hourly::{HOURS, HourlyCounts, load_hours};
pub use queries::{push_insert_spans, push_insert_tallies};
use store::Transaction;

/// Counts the items that arrived between each user's cursor (`after` or later) and `upto`. Call it before the cursors
/// move.
///
/// Inserts a span per user, or a tally per log entry if there are fewer entries than users. Either way few rows are
/// written. The span of a user who received nothing counts nothing.
pub async fn record_arrivals(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (after, upto): (Seq, Seq),
    now: Millis,
) -> Result<()> {
    let is_short = usize::try_from(upto.0 - after.0).is_ok_and(|entries| entries < users.len());
    let arrived = if is_short {
        queries::insert_arrival_tallies(txn, tenant, users, (after, upto))
    } else {
        queries::insert_arrival_spans(txn, users, upto, now)
    };
    arrived.execute(txn).await?;
    Ok(())
}

/// Counts a user's unmarked items of these types as read, from each type's read mark up to `upto`.
pub async fn record_reads(
    txn: &Transaction,
    user: UserId,
    kinds: impl Iterator<Item = (TypeId, Seq)>,
    upto: Seq,
    now: Millis,
) -> Result<()> {
    use tally_span::Column::{AfterSeq, CreatedAt, IsRead, TypeId, UptoSeq, UserId};
    let columns = [UserId, IsRead, TypeId, AfterSeq, UptoSeq, CreatedAt];
    let row = |(kind, after): (entity::ids::TypeId, Seq)| {
        [user.into(), true.into(), kind.into(), after.into(), upto.into(), now.into()]
    };
    insert(txn, columns, kinds.map(row).collect(), ExistingRows::Kept).await?;
    Ok(())
}

/// The user who reads, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReaderInfo {
    /// 0 if webhooks need no reader.
    pub user: UserId,
    pub at: Millis,
}

/// A single item that was read (1) or marked unread (-1).
#[derive(Clone, Copy, Debug)]
pub struct ReadChange {
    pub seq: Seq,
    pub by: i64,
    pub reader: ReaderInfo,
}

/// Keeps users who stop listening to channels in audiences that are not counted yet. Call it before they stop, in the
/// same transaction.
pub async fn record_departures(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
) -> Result<()> {
    for channels in channels.chunks(LIST) {
        queries::insert_departures(txn, tenant, users, Some(channels)).execute(txn).await?;
    }
    Ok(())
}

/// The same for a user to be erased, who received announcements to everyone after `since` in the log.
pub async fn record_erasure(txn: &Transaction, tenant: &Tenant, user: UserId, since: i64) -> Result<()> {
    queries::insert_departures(txn, tenant, &[user], None).execute(txn).await?;
    queries::insert_everyone_departure(txn, tenant, user, since).execute(txn).await?;
    Ok(())
}

/// Inserts a tally for each reading.
pub async fn record_changes(
    txn: &Transaction,
    tenant: &Tenant,
    readings: impl Iterator<Item = ReadChange>,
) -> Result<()> {
    use tally::Column::{Delivered, HappenedAt, ReaderId, Seq, TenantId, WasRead};
    let columns = [TenantId, Seq, Delivered, WasRead, ReaderId, HappenedAt];
    let row = |ReadChange { seq, by, reader }: ReadChange| {
        [tenant.id.into(), seq.into(), 0_i64.into(), by.into(), reader.user.into(), reader.at.into()]
    };
    insert(txn, columns, readings.map(row).collect(), ExistingRows::Refused).await?;
    Ok(())
}

/// An SQL CASE from a notification's seq to its number, and otherwise 0. Repeats the last entry up to a power of two,
/// so that there are few different statements.
fn case_by_seq(numbers: &[(Seq, i64)]) -> Expr {
    // No notification has seq 0.
    let last = numbers.last().copied().unwrap_or_default();
    let places = 0..numbers.len().next_power_of_two();
    let mut case = CaseStatement::new();
    for (seq, number) in places.map(|place| numbers.get(place).copied().unwrap_or(last)) {
        case = case.case(notification::Column::Seq.eq(seq), number);
    }
    // Not bound: MySQL derives the type of the whole expression from it.
    case.finally(Expr::Constant(0_i64.into())).into()
}

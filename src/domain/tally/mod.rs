//! Counters of sent notifications: how many inboxes received one, and how many users have read it.
//!
//! Readers and syncs never touch the notification's row, which they would wait for. They insert a row of their own: a *span* for a range of
//! an inbox that arrived or was read at once, or a *tally* for single items. In the background, spans are settled into tallies item by
//! item, and tallies are added to the notifications (`count`), and by the hour for large audiences (`hours`). A sync of many users over
//! few entries of the log writes tallies at once.
//!
//! A span is true only as long as the items in it keep their state. A change of single items therefore settles the user's spans
//! first, under the lock of the user's row that it holds anyway. If an endpoint of the tenant subscribes to `item.read`, spans are settled
//! by reader, and the transaction that adds tallies up also writes the webhooks (`told`). Every function here but those of the
//! background runs under the lock of the users' rows.

mod audience;
mod count;
mod hours;
mod settle;
mod statement;
mod told;

use entity::ids::{ChannelId, Seq, TypeId, UserId};
use entity::prelude::*;
use entity::{notification, tally, tally_span};
use sea_orm::sea_query::CaseStatement;

use super::tenant::Tenant;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;

pub use count::{count, settle_all};
pub use hours::{HOURS, Hour, hours};
pub use settle::{settle, settle_up_to};
pub use statement::{push_marked, push_read};

/// What arrived in the inboxes of users, from where each of them stands (`after` or later) up to `upto`, is to be counted; of
/// who got nothing, that will be nothing.
///
/// A span for each of the users, or where they are more than the entries of the log that they were brought over, at once a
/// tally for each of those: what reaches many leaves a few rows.
pub async fn arrived(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (after, upto): (Seq, Seq),
    now: Millis,
) -> Result<()> {
    let is_short = usize::try_from(upto.0 - after.0).is_ok_and(|entries| entries < users.len());
    let arrived = if is_short {
        statement::arrived(txn, tenant, users, (after, upto))
    } else {
        statement::arrived_up_to(txn, users, upto, now)
    };
    arrived.run(txn).await?;
    Ok(())
}

/// Items of types that were neither marked by themselves nor below the mark of their type, which is named with it, are read now, up to `upto`.
pub async fn read(
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
    insert(txn, columns, kinds.map(row).collect(), Existing::Kept).await?;
    Ok(())
}

/// Who reads, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    /// 0: nobody whom webhooks are told of.
    pub user: UserId,
    pub at: Millis,
}

/// A single item was read (1) or marked unread (-1).
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub seq: Seq,
    pub by: i64,
    pub reader: Reader,
}

/// Users stop listening to channels: audiences that are not counted yet are counted with them all the same. Call it before they stop, in
/// the transaction that does.
pub async fn departing(txn: &Transaction, tenant: &Tenant, users: &[UserId], channels: &[ChannelId]) -> Result<()> {
    for channels in channels.chunks(LIST) {
        statement::departed(txn, tenant, users, Some(channels)).run(txn).await?;
    }
    Ok(())
}

/// The same for a user who is erased. Announcements to everyone addressed the user from `since` in the log on.
pub async fn leaving(txn: &Transaction, tenant: &Tenant, user: UserId, since: i64) -> Result<()> {
    statement::departed(txn, tenant, &[user], None).run(txn).await?;
    statement::departed_from_everyone(txn, tenant, user, since).run(txn).await?;
    Ok(())
}

/// Leaves a tally for each.
pub async fn marked(txn: &Transaction, tenant: &Tenant, readings: impl Iterator<Item = Reading>) -> Result<()> {
    use tally::Column::{Delivered, HappenedAt, ReaderId, Seq, TenantId, WasRead};
    let columns = [TenantId, Seq, Delivered, WasRead, ReaderId, HappenedAt];
    let row = |Reading { seq, by, reader }: Reading| {
        [tenant.id.into(), seq.into(), 0_i64.into(), by.into(), reader.user.into(), reader.at.into()]
    };
    insert(txn, columns, readings.map(row).collect(), Existing::Refused).await?;
    Ok(())
}

/// The number that belongs to a notification by its seq, and 0 where none does. The last one is repeated, so that a statement's
/// text depends on how many there are only by powers of two.
fn by_seq(numbers: &[(Seq, i64)]) -> Expr {
    // No seq is 0.
    let last = numbers.last().copied().unwrap_or_default();
    let places = 0..numbers.len().next_power_of_two();
    let mut case = CaseStatement::new();
    for (seq, number) in places.map(|place| numbers.get(place).copied().unwrap_or(last)) {
        case = case.case(notification::Column::Seq.eq(seq), number);
    }
    // Not bound: MySQL takes the type of the others from it.
    case.finally(Expr::Constant(0_i64.into())).into()
}

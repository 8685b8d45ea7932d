//! The background task: turns spans into tallies, and adds tallies to notifications.

use std::collections::BTreeMap;

use entity::ids::{Seq, TenantId, UserId};
use entity::notification::{self, Entity as Notification};
use entity::prelude::*;
use entity::tally::{self, Entity as Tally};
use entity::tally_span::{self, Entity as TallySpan};
use entity::user::{self, Entity as User};
use sea_orm::sea_query::ExprTrait;

use super::{audience, case_by_seq, flush_users, hourly, read_webhooks};
use base::clock::Millis;
use base::error::{Error, Result};
use store::{Store, Transaction, transaction};

/// Users per transaction that settles spans. It locks their rows.
const USERS: u64 = 200;

/// Tallies per transaction.
const TALLIES: usize = 5000;

/// Notifications per statement.
const NOTIFICATIONS: usize = 256;

/// Brings the counters of all notifications up to date. Safe on several nodes at once.
pub async fn update_counters(store: &Store) -> Result<()> {
    flush_all(store).await?;
    while transaction!(store.db, |txn| apply_tallies(txn, store.now()).await)? {}
    audience::count_audiences(store).await
}

/// Settles the spans of all users. Call it before their items are deleted. It makes one pass: spans that users add
/// meanwhile may stay for the next one, so busy users cannot keep it from ending.
pub async fn flush_all(store: &Store) -> Result<()> {
    let mut after = Some(UserId(0));
    while let Some(from) = after {
        after = transaction!(store.db, |txn| flush_next_users(txn, from).await)?;
    }
    Ok(())
}

/// Settles the spans of the next users after `after`, and returns the last of them.
async fn flush_next_users(txn: &Transaction, after: UserId) -> Result<Option<UserId>> {
    let column = tally_span::Column::UserId;
    let next = TallySpan::find().filter(column.gt(after)).select_only().column(column).distinct();
    let users = next.order_by_asc(column).limit(USERS).into_tuple::<UserId>().all(txn).await?;
    let Some(&last) = users.last() else { return Ok(None) };
    let locked = User::find().filter(user::Column::Id.is_in_list(txn, &users)).select_only().column(user::Column::Id);
    let locked = locked.order_by_asc(user::Column::Id).for_update(txn).into_tuple::<UserId>().all(txn).await?;
    // Spans of erased users are left to the job that erases them.
    flush_users(txn, &locked).await?;
    Ok(Some(last))
}

/// Adds some tallies to their notifications and writes the webhooks for them, in the transaction that deletes the
/// tallies. Returns false if hardly any are left.
async fn apply_tallies(txn: &Transaction, now: Millis) -> Result<bool> {
    let tallies = Tally::find().order_by_asc(tally::Column::Id).limit(TALLIES as u64).for_update(txn).all(txn).await?;
    read_webhooks::write_read_webhooks(txn, &tallies, now).await?;
    let mut sums: BTreeMap<TenantId, BTreeMap<Seq, (i64, i64)>> = BTreeMap::new();
    for tally in &tallies {
        let sum = sums.entry(tally.tenant_id).or_default().entry(tally.seq).or_default();
        sum.0 += tally.delivered;
        sum.1 += tally.was_read;
    }
    for (tenant, sums) in sums {
        let sums: Vec<(Seq, (i64, i64))> = sums.into_iter().collect();
        for sums in sums.chunks(NOTIFICATIONS) {
            add_to_notifications(txn, tenant, sums).await?;
            hourly::add_to_hour(txn, tenant, sums, now).await?;
        }
    }
    let ids: Vec<i64> = tallies.iter().map(|tally| tally.id).collect();
    for ids in ids.chunks(LIST) {
        let delete = Tally::delete_many().filter(tally::Column::Id.is_in_list(txn, ids));
        if delete.exec(txn).await?.rows_affected != ids.len() as u64 {
            return Err(Error::Unavailable("another node has flushed the same counters".into()));
        }
    }
    Ok(tallies.len() == TALLIES)
}

async fn add_to_notifications(txn: &Transaction, tenant: TenantId, sums: &[(Seq, (i64, i64))]) -> Result<()> {
    use notification::Column::{DeliveredCount, ReadCount};
    let delivered: Vec<(Seq, i64)> = sums.iter().map(|(seq, (delivered, _))| (*seq, *delivered)).collect();
    let was_read: Vec<(Seq, i64)> = sums.iter().map(|(seq, (_, was_read))| (*seq, *was_read)).collect();
    let seqs: Vec<Seq> = sums.iter().map(|(seq, _)| *seq).collect();
    let add = Notification::update_of_tenant(tenant)
        .col_expr(DeliveredCount, Expr::col(DeliveredCount).add(case_by_seq(&delivered)))
        .col_expr(ReadCount, Expr::col(ReadCount).add(case_by_seq(&was_read)));
    add.filter(notification::Column::Seq.is_in_list(txn, &seqs)).exec(txn).await?;
    Ok(())
}

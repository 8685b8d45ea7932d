//! Erases a user: deletes everything that is theirs alone, and removes their id from everything that stays.
//!
//! The first transaction deletes the user's row, so that all other code sees that the user no longer exists, and
//! records a job for the rest. The job deletes the user's rows in batches, then scans everything that was sent.

use entity::ids::{Seq, UserId};
use entity::notification::{self, Entity as Notification};
use entity::prelude::*;
use entity::publication::{self, Entity as Publication};
use entity::recipient::{self, Entity as Recipient};
use entity::schedule::{self, Entity as Schedule};
use entity::user::{self, Entity as User};
use entity::{contact, digest, inbox_item, preference, read_mark, subscription, tally_span, view_visit};
use sea_orm::sea_query::{CaseStatement, ExprTrait};

use super::queries::NOTIFICATIONS;
use base::error::Result;
use cluster::hub::Notice;
use domain::job::{self, JobProgress, LockedJob};
use domain::notification::OF_USERS;
use domain::tenant::{self, Tenant};
use domain::{channel, counters, user as users};
use model::validate;
use store::{PendingAudit, Store, Transaction, transaction};

/// Rows of one table deleted in one transaction.
const ROWS: u64 = 2000;

/// Erases a user: profile, inbox, marks, subscriptions, preferences, visits, and the messages to them. Notifications
/// from them stay, without a sender. Returns false if nothing was left to erase. Their live sessions end.
///
/// From the first transaction on, a mention of the id creates a new user. The rest is done before this returns. If it
/// is interrupted, any node continues it, and so does a repeated call.
pub async fn erase_user(store: &Store, tenant: &Tenant, external_id: &str) -> Result<bool> {
    validate::identifier("id", external_id)?;
    let erased = transaction!(store.db, |txn| begin_erasure(txn, tenant, external_id, store.now()).await)?;
    tenant::load_head(&store.db.read, tenant).await?;
    let jobs = job::find_by_name(store, tenant, job::JobKind::Erase, external_id).await?;
    for &id in &jobs {
        while transaction!(store.db, |txn| {
            let Some(job) = job::lock_job(txn, id).await? else { return Ok(false) };
            let next = run_step(txn, tenant, &job).await?;
            job::save_progress(txn, id, next, store.now()).await
        })? {}
    }
    Ok(erased.is_some() || !jobs.is_empty())
}

/// Deletes the user's row, which frees their id, and records a job for the rest.
///
/// Every writer about users locks either their rows, or the tenant's row and then checks for erasures. So each of its
/// rows is either visible when the job begins, or never written.
async fn begin_erasure(txn: &Transaction, tenant: &Tenant, external_id: &str, now: i64) -> Result<Option<UserId>> {
    let named = User::of_tenant(tenant.id).filter(user::Column::ExternalId.eq(external_id));
    let Some(row) = named.for_update(txn).one(txn).await? else { return Ok(None) };
    let user = row.id;
    PendingAudit::set_subjects([user]);
    let since = users::seq_before(txn, tenant, row.created_at).await?;
    counters::record_erasure(txn, tenant, row.id, since).await?;
    User::delete_of_user(user).exec(txn).await?;
    job::create_job(txn, tenant, (job::JobKind::Erase, user.0), Some(external_id), now).await?;
    channel::close_actor_channel(txn, tenant, user, now).await?;
    // The tenant's row last, because every send waits for it.
    let erased_count = entity::tenant::Column::ErasedCount;
    let count = entity::tenant::Entity::update_of_tenant(tenant.id);
    count.col_expr(erased_count, Expr::col(erased_count).add(1)).exec(txn).await?;
    txn.notify(Notice { erased: vec![user], ..Notice::for_tenant(tenant.id) });
    Ok(Some(user))
}

/// Deletes a batch for an erased user: at place 0 of their own rows, from 1 on of their traces in sent notifications,
/// from that number on.
pub async fn run_step(txn: &Transaction, tenant: &Tenant, job: &LockedJob) -> Result<JobProgress> {
    let user = UserId(job.subject);
    if job.place > 0 {
        let next = erase_from_sent(txn, tenant, user, job.place).await?;
        // Notifications from them are shown without a sender now.
        txn.notify(Notice { doubtful: next.is_none(), ..Notice::for_tenant(tenant.id) });
        return Ok(next.map_or(JobProgress::Done, |place| JobProgress::At { place, due_at: 0 }));
    }
    let end = end_of_batch(txn, user, inbox_item::Column::Seq).await?;
    // Their deliveries and reads stay counted.
    counters::flush_up_to(txn, tenant, user, end.map_or(Seq(i64::MAX), Seq)).await?;
    let mut is_more = delete_up_to(txn, user, inbox_item::Column::Seq, end).await?;
    is_more |= delete_batch(txn, user, read_mark::Column::ReadUpto).await?;
    is_more |= delete_batch(txn, user, subscription::Column::ChannelId).await?;
    is_more |= delete_batch(txn, user, preference::Column::SubjectId).await?;
    is_more |= delete_batch(txn, user, view_visit::Column::ViewId).await?;
    is_more |= delete_batch(txn, user, contact::Column::Id).await?;
    is_more |= delete_batch(txn, user, digest::Column::LaneId).await?;
    if !is_more {
        // Spans go last: they say what the counters still need from the remaining items.
        is_more = delete_batch(txn, user, tally_span::Column::AfterSeq).await?;
    }
    Ok(JobProgress::At { place: i64::from(!is_more), due_at: 0 })
}

/// Deletes a batch of a user's rows of a table, in the order of `key`. Returns whether there may be more.
pub(super) async fn delete_batch<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C) -> Result<bool>
where
    C::EntityName: OfUser<Column = C>,
{
    let end = end_of_batch(txn, user, key).await?;
    delete_up_to(txn, user, key, end).await
}

/// The last `key` of the first batch of a user's rows of a table. `None` if the rows do not fill a batch.
async fn end_of_batch<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C) -> Result<Option<i64>>
where
    C::EntityName: OfUser<Column = C>,
{
    let rows = C::EntityName::of_user(user).select_only().column(key).order_by_asc(key);
    Ok(rows.offset(ROWS - 1).into_tuple::<i64>().one(txn).await?)
}

/// Deletes a user's rows of a table up to the end of a batch. Returns whether there may be more.
async fn delete_up_to<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C, end: Option<i64>) -> Result<bool>
where
    C::EntityName: OfUser<Column = C>,
{
    let mut delete = C::EntityName::delete_of_user(user);
    if let Some(end) = end {
        delete = delete.filter(key.lte(end));
    }
    delete.exec(txn).await?;
    Ok(end.is_some())
}

/// Scans notifications from a number on: deletes those to the user, and removes the user from the others. Returns where
/// to continue.
///
/// Reads first, then changes rows by their keys, because MySQL would lock every row that it scans.
pub(super) async fn erase_from_sent(
    txn: &Transaction,
    tenant: &Tenant,
    user: UserId,
    from: i64,
) -> Result<Option<i64>> {
    let (key, to) = (recipient::Column::NotificationId, recipient::Column::UserId);
    for ids in find_rows_naming(txn, tenant, (user, from), (key, to)).await?.chunks(LIST) {
        let delete = Recipient::delete_of_tenant(tenant.id).filter(key.is_in_list(txn, ids));
        delete.filter(to.eq(user)).exec(txn).await?;
    }
    let (key, to) = (notification::Column::Id, notification::Column::ReceiverId);
    for ids in find_rows_naming(txn, tenant, (user, from), (key, to)).await?.chunks(LIST) {
        let waiting = schedule::Column::NotificationId.is_in_list(txn, ids);
        Schedule::delete_of_tenant(tenant.id).filter(waiting).exec(txn).await?;
        let delete = Notification::delete_of_tenant(tenant.id).filter(key.is_in_list(txn, ids));
        delete.filter(to.eq(user)).exec(txn).await?;
    }
    let (by, said) = (notification::Column::SenderId, notification::Column::IdempotencyKey);
    for ids in find_rows_naming(txn, tenant, (user, from), (key, by)).await?.chunks(LIST) {
        // A user's own key identifies them. The backend's key stays, so that a retry still sends nothing.
        let kept = CaseStatement::new().case(said.starts_with(OF_USERS), Expr::null()).finally(Expr::col(said));
        let part = Notification::update_of_tenant(tenant.id).col_expr(by, Expr::null()).col_expr(said, kept.into());
        part.filter(key.is_in_list(txn, ids)).filter(by.eq(user)).exec(txn).await?;
    }
    let (key, by) = (publication::Column::Seq, publication::Column::ActorId);
    for seqs in find_rows_naming(txn, tenant, (user, from), (key, by)).await?.chunks(LIST) {
        let part = Publication::update_of_tenant(tenant.id).col_expr(by, Expr::null());
        part.filter(key.is_in_list(txn, seqs)).filter(by.eq(user)).exec(txn).await?;
    }
    let next = from + NOTIFICATIONS;
    Ok((next <= end_of_sent(txn, tenant).await?).then_some(next))
}

/// The keys, in a part of the sent notifications, of rows that name a user in `column`.
async fn find_rows_naming<C: ColumnTrait>(
    txn: &Transaction,
    tenant: &Tenant,
    (user, from): (UserId, i64),
    (key, column): (C, C),
) -> Result<Vec<i64>>
where
    C::EntityName: OfTenant<Column = C>,
{
    let part = C::EntityName::of_tenant(tenant.id).filter(key.gte(from)).filter(key.lt(from + NOTIFICATIONS));
    let found = part.filter(column.eq(user)).select_only().column(key);
    let mut found = found.into_tuple::<i64>().all(txn).await?;
    found.dedup();
    Ok(found)
}

/// The highest number of all that a tenant has sent, over both keys of the scan.
pub(super) async fn end_of_sent(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<i64> {
    use entity::tenant::{Column, Entity};
    let ends = Entity::of_tenant(tenant.id).select_only().column(Column::LastSeq).column(Column::LastNotificationId);
    let ends = ends.into_tuple::<(i64, i64)>().one(db).await?;
    Ok(ends.map_or(0, |(seq, notification)| Ord::max(seq, notification)))
}

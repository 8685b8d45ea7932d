//! Erasing a user: nothing of what is theirs alone stays, and their number in nothing that stays.
//!
//! The first transaction deletes their row, by which everybody else knows that they are no user any more, and writes down
//! that the rest is to follow. That is a job: it takes what they had in batches, then looks through all that was sent.

use entity::ids::{Seq, UserId};
use entity::notification::Entity as Notification;
use entity::prelude::*;
use entity::publication::Entity as Publication;
use entity::recipient::Entity as Recipient;
use entity::schedule::Entity as Schedule;
use entity::user::Entity as User;
use entity::{
    contact, digest, inbox_item, notification, preference, publication, read_mark, recipient, schedule, subscription,
};
use entity::{tally_span, user, view_visit};
use sea_orm::sea_query::{CaseStatement, ExprTrait};

use super::statement::NOTIFICATIONS;
use crate::app::App;
use crate::database::{Act, Transaction, transaction};
use crate::domain::job::{self, Job, Next};
use crate::domain::notification::OF_USERS;
use crate::domain::tenant::{self, Tenant};
use crate::domain::{channel, tally, user as users};
use crate::error::Result;
use crate::hub::Notice;
use crate::model::check;

/// Rows of one table that are deleted in one transaction.
const ROWS: u64 = 2000;

/// Erases a user: profile, inbox, marks, subscriptions, preferences, visits, and the messages to them; what they sent stays,
/// from nobody. False where nothing of the kind is left. Their live sessions end.
///
/// A mention of the id makes a new user from the first transaction on. The rest follows before this returns; where it is cut
/// off, each node goes on with it, and so does the same call again.
pub async fn erase(app: &App, tenant: &Tenant, external_id: &str) -> Result<bool> {
    check::code("id", external_id)?;
    let erased = transaction!(app.db, |txn| begin(txn, tenant, external_id, app.now()).await)?;
    tenant::head(&app.db.read, tenant).await?;
    let jobs = job::named(app, tenant, job::Kind::Erase, external_id).await?;
    for &id in &jobs {
        while transaction!(app.db, |txn| {
            let Some(job) = job::locked(txn, id).await? else { return Ok(false) };
            let next = step(txn, tenant, &job).await?;
            job::left(txn, id, next, app.now()).await
        })? {}
    }
    Ok(erased.is_some() || !jobs.is_empty())
}

/// Deletes the user's row, in which their id is free again, and writes down what follows.
///
/// Whoever writes something about users either locks their rows, or the tenant's, and looks where anybody was erased. So all
/// of it is there to be seen when the job begins, or never comes to be.
async fn begin(txn: &Transaction, tenant: &Tenant, external_id: &str, now: i64) -> Result<Option<UserId>> {
    let named = User::of_tenant(tenant.id).filter(user::Column::ExternalId.eq(external_id));
    let Some(row) = named.for_update(txn).one(txn).await? else { return Ok(None) };
    let user = row.id;
    Act::concerns([user]);
    let since = users::before(txn, tenant, row.created_at).await?;
    tally::leaving(txn, tenant, row.id, since).await?;
    User::delete_of_user(user).exec(txn).await?;
    job::begin(txn, tenant, (job::Kind::Erase, user.0), Some(external_id), now).await?;
    channel::close_actor(txn, tenant, user, now).await?;
    // The tenant's row last, for which every send waits.
    let erased_count = entity::tenant::Column::ErasedCount;
    let count = entity::tenant::Entity::update_of_tenant(tenant.id);
    count.col_expr(erased_count, Expr::col(erased_count).add(1)).exec(txn).await?;
    txn.tell(Notice { erased: vec![user], ..Notice::of(tenant.id) });
    Ok(Some(user))
}

/// Deletes a batch of what somebody had who is no user any more, or of the traces of them in what was sent: at 0 the one, at
/// 1 and above the other, from that number on.
pub async fn step(txn: &Transaction, tenant: &Tenant, job: &Job) -> Result<Next> {
    let user = UserId(job.subject);
    if job.place > 0 {
        let next = erase_sent(txn, tenant, user, job.place).await?;
        // What they sent is shown without them.
        txn.tell(Notice { doubtful: next.is_none(), ..Notice::of(tenant.id) });
        return Ok(next.map_or(Next::Done, |place| Next::At { place, due_at: 0 }));
    }
    let end = end_of_batch(txn, user, inbox_item::Column::Seq).await?;
    // They were reached and have read, whoever they were.
    tally::settle_up_to(txn, tenant, user, end.map_or(Seq(i64::MAX), Seq)).await?;
    let mut is_more = delete_up_to(txn, user, inbox_item::Column::Seq, end).await?;
    is_more |= delete_batch(txn, user, read_mark::Column::ReadUpto).await?;
    is_more |= delete_batch(txn, user, subscription::Column::ChannelId).await?;
    is_more |= delete_batch(txn, user, preference::Column::SubjectId).await?;
    is_more |= delete_batch(txn, user, view_visit::Column::ViewId).await?;
    is_more |= delete_batch(txn, user, contact::Column::Id).await?;
    is_more |= delete_batch(txn, user, digest::Column::LaneId).await?;
    if !is_more {
        // Spans go last: they tell what is still to be counted of the items that are left.
        is_more = delete_batch(txn, user, tally_span::Column::AfterSeq).await?;
    }
    Ok(Next::At { place: i64::from(!is_more), due_at: 0 })
}

/// Deletes a batch of a user's rows of a table, which are told apart by `key`; whether there may be more.
pub(super) async fn delete_batch<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C) -> Result<bool>
where
    C::EntityName: OfUser<Column = C>,
{
    let end = end_of_batch(txn, user, key).await?;
    delete_up_to(txn, user, key, end).await
}

/// Where the first batch of a user's rows of a table ends; nothing where all that there are make one.
async fn end_of_batch<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C) -> Result<Option<i64>>
where
    C::EntityName: OfUser<Column = C>,
{
    let rows = C::EntityName::of_user(user).select_only().column(key).order_by_asc(key);
    Ok(rows.offset(ROWS - 1).into_tuple::<i64>().one(txn).await?)
}

/// Deletes a user's rows of a table up to where a batch ends; whether there may be more.
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

/// Looks through some notifications from a number on: those to the user go, those from them stay. Returns where to go on.
///
/// Looked for first, and then changed by their keys: MySQL would lock all that it looks through.
pub(super) async fn erase_sent(txn: &Transaction, tenant: &Tenant, user: UserId, from: i64) -> Result<Option<i64>> {
    let (key, to) = (recipient::Column::NotificationId, recipient::Column::UserId);
    for ids in naming(txn, tenant, (user, from), (key, to)).await?.chunks(LIST) {
        let delete = Recipient::delete_of_tenant(tenant.id).filter(key.among(txn, ids));
        delete.filter(to.eq(user)).exec(txn).await?;
    }
    let (key, to) = (notification::Column::Id, notification::Column::ReceiverId);
    for ids in naming(txn, tenant, (user, from), (key, to)).await?.chunks(LIST) {
        let waiting = schedule::Column::NotificationId.among(txn, ids);
        Schedule::delete_of_tenant(tenant.id).filter(waiting).exec(txn).await?;
        let delete = Notification::delete_of_tenant(tenant.id).filter(key.among(txn, ids));
        delete.filter(to.eq(user)).exec(txn).await?;
    }
    let (by, said) = (notification::Column::SenderId, notification::Column::IdempotencyKey);
    for ids in naming(txn, tenant, (user, from), (key, by)).await?.chunks(LIST) {
        // A key of their own tells whose it was; the backend's goes on sending once.
        let kept = CaseStatement::new().case(said.starts_with(OF_USERS), Expr::null()).finally(Expr::col(said));
        let part = Notification::update_of_tenant(tenant.id).col_expr(by, Expr::null()).col_expr(said, kept.into());
        part.filter(key.among(txn, ids)).filter(by.eq(user)).exec(txn).await?;
    }
    let (key, by) = (publication::Column::Seq, publication::Column::ActorId);
    for seqs in naming(txn, tenant, (user, from), (key, by)).await?.chunks(LIST) {
        let part = Publication::update_of_tenant(tenant.id).col_expr(by, Expr::null());
        part.filter(key.among(txn, seqs)).filter(by.eq(user)).exec(txn).await?;
    }
    let next = from + NOTIFICATIONS;
    Ok((next <= end_of_sent(txn, tenant).await?).then_some(next))
}

/// Where a part of what was sent, which is gone through by the numbers of `key`, names somebody in `column`.
async fn naming<C: ColumnTrait>(
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

/// The last number of all that a tenant has sent, by whichever key it is gone through.
pub(super) async fn end_of_sent(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<i64> {
    use entity::tenant::{Column, Entity};
    let ends = Entity::of_tenant(tenant.id).select_only().column(Column::LastSeq).column(Column::LastNotificationId);
    let ends = ends.into_tuple::<(i64, i64)>().one(db).await?;
    Ok(ends.map_or(0, |(seq, notification)| Ord::max(seq, notification)))
}

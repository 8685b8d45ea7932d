//! The sweep: deletes data past the retention window, in small batches, each in its own transaction.
//!
//! It deletes publications first, so that no inbox can still get them; then the items of all inboxes; then the
//! notifications. Readers see each item with all its data, or not at all. A batch locks only its own rows.

mod queries;

use entity::ids::{Seq, TenantId, UserId};
use entity::notification::{self, Entity as Notification};
use entity::prelude::*;
use entity::read_mark::{self, Entity as ReadMark};
use entity::recipient::{self, Entity as Recipient};
use entity::tenant::{Column, Entity as Head};
use entity::{amendment, gap, publication, tally_hour};
use futures_util::future::BoxFuture;

use self::queries::{UserSweepRow, delete_old_items, select_users_to_sweep};
use base::clock::Millis;
use base::error::{Error, Result};
use delivery::{DeliveryContext, destination, webhook};
use domain::catalogue::action;
use domain::tenant::{self, Tenant, TenantFailures};
use domain::{audit, channel, counters, ended_session, user, view};
use store::{Store, Transaction, transaction};

/// Rows per transaction.
const ROWS: u64 = 2000;

/// Users per statement that checks inboxes.
const USERS: u64 = 200;

/// How long expired items stay, in milliseconds: a node with a slow clock may still show and count them.
const CLOCKS: Millis = 300_000;

/// The limits of the sweep: it deletes everything from before these instants.
#[derive(Clone, Copy)]
struct SweepCutoffs {
    published: Millis,
    expired: Millis,
}

/// How many rows a sweep deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    pub publications: u64,
    pub items: u64,
    pub notifications: u64,
    /// Channels without listeners and publications.
    pub channels: u64,
    /// Actions that were not used for the whole retention window and that no retained data names.
    pub actions: u64,
    /// Views that were not touched for a year, and idempotency keys of activities past the retention window.
    pub views: u64,
    /// Deliveries to all destinations, successful or not.
    pub deliveries: u64,
}

/// Deletes everything past the retention window, and expired items, for all tenants. If a tenant fails, the sweep
/// continues with the others and then returns the first failure.
///
/// It uses the database's clock. `UNAVAILABLE` if this node's clock differs from it too much.
pub fn sweep_all(context: &DeliveryContext) -> BoxFuture<'_, Result<SweepCounts>> {
    Box::pin(sweep_all_inner(context))
}

async fn sweep_all_inner(context: &DeliveryContext) -> Result<SweepCounts> {
    context.compare_clocks().await?;
    if context.shared_clock.is_in_doubt() {
        return Err(Error::Unavailable(format!(
            "{}: nothing is deleted until they agree",
            context.shared_clock.describe_difference()
        )));
    }
    let now = context.now();
    let old = SweepCutoffs { published: now - context.config.retention_millis(), expired: now - CLOCKS };
    // Flushes the counters first, because deleted items can no longer be counted.
    counters::flush_all(context).await?;
    ended_session::sweep(context, old.expired).await?;
    let mut swept = SweepCounts::default();
    let tenants = Head::find().select_only().column(Column::Id).order_by_asc(Column::Id).into_tuple::<TenantId>();
    let mut failures = TenantFailures::default();
    for tenant in tenants.all(&context.db.read).await? {
        failures.record_failure(context, tenant, sweep_tenant(context, tenant, old, &mut swept).await);
    }
    // Cursors from before the retention window are rejected, so no accepted cursor can lie in these gaps.
    transaction!(context.db, |txn| {
        let gaps = gap::Entity::delete_many().filter(gap::Column::CreatedAt.lt(old.published));
        Ok(gaps.exec(txn).await?)
    })?;
    loop {
        let views = view::sweep(context).await?;
        swept.views += views;
        if views == 0 {
            return failures.into_result().map(|()| swept);
        }
    }
}

async fn sweep_tenant(
    context: &DeliveryContext,
    tenant: TenantId,
    old: SweepCutoffs,
    swept: &mut SweepCounts,
) -> Result<()> {
    let tenant = &*tenant::get_by_id(context, tenant).await?;
    let upto = Seq(user::seq_before(&context.db.read, tenant, old.published).await?);
    let is_news = load_swept_seq(context, tenant).await? < upto;
    if is_news {
        swept.publications += delete_log_rows(context, tenant, publication::Column::Seq, upto).await?;
    }
    if is_news || has_expired(context, tenant, old.expired).await? {
        swept.items += sweep_inboxes(context, tenant, upto, old.expired).await?;
    }
    if is_news {
        delete_recipients(context, tenant, upto).await?;
        swept.notifications += delete_log_rows(context, tenant, notification::Column::Seq, upto).await?;
        delete_log_rows(context, tenant, amendment::Column::Seq, upto).await?;
        delete_log_rows(context, tenant, tally_hour::Column::Seq, upto).await?;
        transaction!(context.db, |txn| {
            let swept = Head::update_of_tenant(tenant.id).col_expr(Column::SweptSeq, Expr::val(upto));
            Ok(swept.exec(txn).await?)
        })?;
    }
    swept.notifications += transaction!(context.db, |txn| delete_cancelled(txn, tenant, old.published).await)?;
    swept.channels += channel::sweep(context, tenant).await?;
    swept.actions += action::sweep(context, tenant, old.published).await?;
    swept.deliveries += destination::delete_old_deliveries(context, tenant, old.published).await?;
    webhook::delete_old_batches(context, tenant, old.published).await?;
    audit::sweep(context, tenant, context.now() - context.config.audit_millis()).await?;
    destination::reseal_secrets(context, tenant).await
}

async fn load_swept_seq(store: &Store, tenant: &Tenant) -> Result<Seq> {
    let swept = Head::of_tenant(tenant.id).select_only().column(Column::SweptSeq).into_tuple::<Seq>();
    Ok(swept.one(&store.db.read).await?.unwrap_or_default())
}

async fn has_expired(store: &Store, tenant: &Tenant, before: Millis) -> Result<bool> {
    use notification::Column::{ExpiresAt, Id};
    let expired = Notification::of_tenant(tenant.id).filter(ExpiresAt.lte(before)).select_only().column(Id);
    // This order matches `notification_tenant_expires_at`, so that planners choose that index.
    Ok(expired.order_by_asc(ExpiresAt).into_tuple::<i64>().one(&store.db.read).await?.is_some())
}

/// Deletes log rows up to a position, in ranges of `seq`.
async fn delete_log_rows<C: ColumnTrait>(store: &Store, tenant: &Tenant, seq: C, upto: Seq) -> Result<u64>
where
    C::EntityName: OfTenant<Column = C>,
{
    let mut deleted = 0;
    loop {
        let batch = transaction!(store.db, |txn| {
            let rows = C::EntityName::of_tenant(tenant.id).filter(seq.lte(upto)).select_only().column(seq);
            let end = rows.order_by_asc(seq).offset(ROWS - 1).into_tuple::<Seq>().one(txn).await?;
            let delete = C::EntityName::delete_of_tenant(tenant.id).filter(seq.lte(end.unwrap_or(upto)));
            Ok(delete.exec(txn).await?.rows_affected)
        })?;
        deleted += batch;
        if batch < ROWS {
            return Ok(deleted);
        }
    }
}

/// Deletes the recipient lists of announcements past the retention window.
async fn delete_recipients(store: &Store, tenant: &Tenant, upto: Seq) -> Result<()> {
    use recipient::Column::NotificationId;
    let mut after = 0;
    loop {
        let next = transaction!(store.db, |txn| {
            let named = Recipient::of_tenant(tenant.id).filter(NotificationId.gt(after)).select_only();
            let named = named.column(NotificationId).distinct().order_by_asc(NotificationId).limit(LIST as u64);
            let named: Vec<i64> = named.into_tuple().all(txn).await?;
            let old = Notification::of_tenant(tenant.id).filter(notification::Column::Id.is_in_list(txn, &named));
            let old = old.filter(notification::Column::Seq.lte(upto)).select_only().column(notification::Column::Id);
            let old: Vec<i64> = old.into_tuple().all(txn).await?;
            Recipient::delete_of_tenant(tenant.id).filter(NotificationId.is_in_list(txn, &old)).exec(txn).await?;
            Ok(named.last().copied().filter(|_| named.len() == LIST))
        })?;
        match next {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

/// Deletes notifications that were retracted before they were sent; they have no log position.
async fn delete_cancelled(txn: &Transaction, tenant: &Tenant, before: Millis) -> Result<u64> {
    let cancelled = Notification::delete_of_tenant(tenant.id).filter(notification::Column::Seq.is_null());
    Ok(cancelled.filter(notification::Column::RetractedAt.lt(before)).exec(txn).await?.rows_affected)
}

/// Sweeps the inboxes of a tenant's users, in user id order.
async fn sweep_inboxes(store: &Store, tenant: &Tenant, upto: Seq, expired: Millis) -> Result<u64> {
    let (mut deleted, mut after) = (0, UserId(0));
    loop {
        let (last, users) = next_users(store, tenant, (upto, expired), after).await?;
        for users in users.chunks(100) {
            loop {
                let batch = transaction!(store.db, |txn| delete_items(txn, tenant, users, (upto, expired)).await)?;
                deleted += batch;
                if batch < ROWS {
                    break;
                }
            }
            transaction!(store.db, |txn| delete_marks(txn, users, upto).await)?;
        }
        match last {
            Some(last) => after = last,
            None => return Ok(deleted),
        }
    }
}

/// Checks the next users after one. Returns the last of them if there may be more, and those with something to delete.
async fn next_users(
    store: &Store,
    tenant: &Tenant,
    (upto, expired): (Seq, Millis),
    after: UserId,
) -> Result<(Option<UserId>, Vec<UserId>)> {
    let db = &store.db.read;
    let users =
        select_users_to_sweep(db, tenant, (upto, expired), (after, USERS)).fetch_by_name::<UserSweepRow>(db).await?;
    let last = users.last().map(|user| user.id).filter(|_| users.len() as u64 == USERS);
    Ok((last, users.into_iter().filter(|user| user.is_old == 1).map(|user| user.id).collect()))
}

/// Deletes read marks over old items, after the items themselves.
async fn delete_marks(txn: &Transaction, users: &[UserId], upto: Seq) -> Result<u64> {
    let marks = ReadMark::delete_many().filter(read_mark::Column::UserId.is_in_list(txn, users));
    Ok(marks.filter(read_mark::Column::ReadUpto.lte(upto)).exec(txn).await?.rows_affected)
}

/// Deletes a batch of old or expired items of these users.
async fn delete_items(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (upto, expired): (Seq, Millis),
) -> Result<u64> {
    let deleted = delete_old_items(txn, tenant, users, (upto, expired, ROWS)).execute(txn).await?;
    if deleted > 0 {
        user::record_inbox_change(txn, tenant, users).await?;
    }
    Ok(deleted)
}

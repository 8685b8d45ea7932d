//! Hand-written statements of a send: the head of the log, and the inbox items of named users.

use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};
use sea_orm::DbBackend;

use crate::tenant::Tenant;
use crate::{preference_filter, probe};
use base::clock::Millis;
use base::error::Result;
use store::{SqlBuilder, Transaction};

/// How far the time of an entry may be ahead of the clock, in milliseconds, so that times do not decrease.
pub const LEAD: Millis = 60_000;

/// The head of a tenant's log.
#[derive(DerivePartialModel)]
#[sea_orm(entity = "tenant::Entity")]
pub(super) struct LogHead {
    pub last_seq: Seq,
    pub last_notification_id: i64,
    pub published_at: Millis,
    pub erased_count: i64,
}

/// The time of a tenant's newest log entry. Locks the tenant's row: a probe of `tenant`'s key.
pub(super) async fn newest_entry_at(txn: &Transaction, tenant: &Tenant) -> Result<Millis> {
    let row = Tenants::of_tenant(tenant.id).for_update(txn).select_only().column(tenant::Column::PublishedAt);
    Ok(row.into_tuple::<Millis>().one(txn).await?.unwrap_or_default())
}

/// Advances the head by `seqs` and `ids`, its time to `at` or later, and returns it; `None` if the catalogue has
/// another version. A probe of `tenant`'s key, and a second one on MySQL, which has no `RETURNING`.
pub(super) async fn advance_head(
    txn: &Transaction,
    tenant: &Tenant,
    (seqs, ids): (i64, i64),
    catalogue_version: i64,
    (at, now): (Millis, Millis),
) -> Result<Option<LogHead>> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("UPDATE tenant SET last_seq = last_seq + ").bind(seqs);
    sql.push(", last_notification_id = last_notification_id + ").bind(ids);
    sql.push(", published_at = CASE WHEN published_at > ").bind(at).push(" AND published_at <= ").bind(now + LEAD);
    sql.push(" THEN published_at ELSE ").bind(at);
    sql.push(" END WHERE id = ").bind(tenant.id).push(" AND catalogue_version = ").bind(catalogue_version);
    if sql.backend() != DbBackend::MySql {
        sql.push(" RETURNING last_seq, last_notification_id, published_at, erased_count");
        return sql.fetch_optional(txn).await;
    }
    if sql.execute(txn).await? == 0 {
        return Ok(None);
    }
    Ok(Tenants::of_tenant(tenant.id).into_partial_model().one(txn).await?)
}

/// A tenant's scheduled notifications.
#[derive(FromQueryResult)]
pub(super) struct ScheduleCount {
    pub many: i64,
    /// When the first is due.
    pub next_at: Option<Millis>,
}

/// Counts up to `most` of them: a range of `schedule`'s key.
pub(super) async fn count_scheduled(db: &impl ConnectionTrait, tenant: &Tenant, most: i64) -> Result<ScheduleCount> {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT count(*) AS many, min(x.publish_at) AS next_at FROM (SELECT s.publish_at FROM schedule s ");
    sql.push("WHERE s.tenant_id = ").bind(tenant.id).push(" LIMIT ").bind(most).push(") x");
    Ok(sql.fetch_optional(db).await?.unwrap_or(ScheduleCount { many: 0, next_at: None }))
}

/// A notification sent under an idempotency key.
#[derive(FromQueryResult)]
pub(super) struct KeyedNotification {
    pub idempotency_key: String,
    pub id: i64,
    pub fingerprint: i64,
    pub publish_at: Option<Millis>,
}

/// The notifications sent under these keys: a probe of `notification_idempotency_key` for each.
pub(super) fn select_by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> SqlBuilder {
    let columns = "n.idempotency_key, n.id, n.fingerprint, n.publish_at";
    probe::select_by_text(db, tenant, "notification", ("idempotency_key", columns), keys)
}

/// Adds messages to the inboxes of receivers who want them, and returns how many: for each a probe of
/// `notification_seq`, and of the keys of `message_type`, `users` and the preferences.
pub(super) async fn insert_message_items(txn: &Transaction, tenant: &Tenant, seqs: &[Seq], now: Millis) -> Result<u64> {
    let mut sql = SqlBuilder::new(txn);
    push_insert_items(&mut sql, (tenant, seqs), "u.id = n.receiver_id", now);
    sql.push(" AND ");
    preference_filter::push_allowed(&mut sql, tenant, "u.id", "n");
    sql.execute(txn).await
}

/// The messages that are in no inbox: for each a probe of `notification_seq` and of `inbox_item`'s key.
pub(super) async fn find_undelivered(txn: &Transaction, tenant: &Tenant, seqs: &[Seq]) -> Result<Vec<Seq>> {
    #[derive(FromQueryResult)]
    struct SeqRow {
        seq: Seq,
    }
    let mut sql = SqlBuilder::new(txn);
    sql.push("SELECT n.seq FROM ");
    probe::push_by_seqs(&mut sql, tenant, seqs);
    sql.push(" WHERE NOT EXISTS (SELECT 1 FROM inbox_item i WHERE i.user_id = n.receiver_id AND i.seq = n.seq)");
    Ok(sql.fetch_by_name::<SeqRow>(txn).await?.into_iter().map(|row| row.seq).collect())
}

/// Adds an announcement to the inboxes of users who want it, and returns how many: a probe of `notification_seq`, and
/// for each user of the keys of `users` and the preferences.
pub(super) async fn insert_announcement_items(
    txn: &Transaction,
    tenant: &Tenant,
    seq: Seq,
    users: &[UserId],
    now: Millis,
) -> Result<u64> {
    let mut sql = SqlBuilder::new(txn);
    push_insert_items(&mut sql, (tenant, &[seq]), "u.tenant_id + 0 = n.tenant_id", now);
    sql.push(" AND u.id").push_list(users).push(" AND ");
    preference_filter::push_allowed(&mut sql, tenant, "u.id", "n");
    sql.execute(txn).await
}

/// Stores the named users of an announcement for its delivery to outbound destinations: a probe of `notification_seq`,
/// and of the key of `users` for each.
pub(super) async fn insert_named_users(txn: &Transaction, tenant: &Tenant, seq: Seq, users: &[UserId]) -> Result<()> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("INSERT INTO recipient (tenant_id, notification_id, user_id) SELECT n.tenant_id, n.id, u.id FROM ");
    probe::push_by_seqs(&mut sql, tenant, &[seq]);
    sql.push(" JOIN users u ON u.tenant_id + 0 = n.tenant_id WHERE u.id").push_list(users);
    sql.execute(txn).await?;
    Ok(())
}

/// Skips notifications that expired before publication.
fn push_insert_items(sql: &mut SqlBuilder, (tenant, seqs): (&Tenant, &[Seq]), users: &str, now: Millis) {
    sql.push("INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) SELECT u.id, n.seq, n.type_id, ");
    sql.push(&format!("{}, n.expires_at FROM ", ItemState::Fresh as i16));
    probe::push_by_seqs(sql, tenant, seqs);
    sql.push(" JOIN message_type mt ON mt.id = n.type_id JOIN users u ON ").push(users);
    sql.push(" WHERE (n.expires_at IS NULL OR n.expires_at > ").bind(now).push(")");
}

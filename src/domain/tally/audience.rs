//! How many users a notification addressed: those who heard its channels when it was published, and wanted to.

use std::collections::HashMap;

use entity::ids::{Seq, TenantId};
use sea_orm::ConnectionTrait;

use crate::app::App;
use crate::database::transaction;
use crate::domain::preference;
use crate::domain::tenant::{self, Failures, Tenant};
use crate::error::Result;
use crate::sql::Sql;

/// Entries of the log that are counted together, unless that takes too long.
const ENTRIES: i64 = 200;

/// Counts the audiences of everything that was published since the last time, of all tenants. What has groups and
/// subscriptions is counted by them, within a minute after it was published; what names its users was counted then.
pub(super) async fn count(app: &App) -> Result<()> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT t.id FROM tenant t WHERE t.counted_seq < t.last_seq");
    let mut failures = Failures::default();
    for row in sql.all(&app.db.read).await? {
        let tenant = row.try_get("", "id")?;
        failures.note(app, tenant, count_of(app, tenant).await);
    }
    failures.end()
}

async fn count_of(app: &App, tenant: TenantId) -> Result<()> {
    let tenant = tenant::by_id(app, tenant).await?;
    let (mut most, mut is_more) = (ENTRIES, true);
    while is_more {
        is_more = match count_some(app, &tenant, most).await {
            // Audiences of millions.
            Err(error) if error.is_slow() && most > 1 => {
                most /= 2;
                true
            }
            counted => counted?,
        };
    }
    Ok(())
}

/// Counts those of a part of the log of so many entries at most; false when that was the last.
async fn count_some(app: &App, tenant: &Tenant, most: i64) -> Result<bool> {
    let db = &app.db.read;
    let mut sql = Sql::new(db);
    sql.push("SELECT t.counted_seq, t.last_seq FROM tenant t WHERE t.id = ").bind(tenant.id);
    let Some(row) = sql.one(db).await? else { return Ok(false) };
    let (after, last): (Seq, Seq) = (row.try_get("", "counted_seq")?, row.try_get("", "last_seq")?);
    let upto = Seq(last.0.min(after.0 + most));
    let mut sizes = by_subscription(db, tenant, (after, upto)).await?;
    for seq in to_everyone(db, tenant, (after, upto)).await? {
        sizes.insert(seq, everyone(db, tenant, seq).await?);
    }
    transaction!(app.db, |txn| {
        let mut sql = Sql::new(txn);
        // What nobody listens to addressed nobody; no seq is 0.
        sql.push("UPDATE notification SET audience_size = CASE seq WHEN 0 THEN 0");
        for (seq, size) in &sizes {
            sql.push(&format!(" WHEN {seq} THEN {size}"));
        }
        sql.push(" ELSE 0 END WHERE audience_size IS NULL AND tenant_id = ").bind(tenant.id);
        sql.push(" AND seq > ").bind(after).push(" AND seq <= ").bind(upto);
        sql.run(txn).await?;
        let mut sql = Sql::new(txn);
        sql.push("UPDATE tenant SET counted_seq = ").bind(upto).push(" WHERE id = ").bind(tenant.id);
        sql.push(" AND counted_seq < ").bind(upto);
        sql.run(txn).await
    })?;
    Ok(upto < last)
}

async fn to_everyone(db: &impl ConnectionTrait, tenant: &Tenant, (after, upto): (Seq, Seq)) -> Result<Vec<Seq>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT p.seq FROM publication p WHERE p.channel_id = ").bind(tenant.everyone);
    sql.push(" AND p.seq > ").bind(after).push(" AND p.seq <= ").bind(upto);
    sql.all(db).await?.iter().map(|row| Ok(row.try_get("", "seq")?)).collect()
}

/// Who listened to a channel of it: a range of the log, and the listeners of each channel.
async fn by_subscription(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (after, upto): (Seq, Seq),
) -> Result<HashMap<Seq, i64>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT p.seq, count(DISTINCT s.user_id) AS size FROM publication p JOIN subscription s ON ");
    sql.push("s.channel_id = p.channel_id AND s.since_seq < p.seq JOIN message_type mt ON mt.id = p.type_id WHERE ");
    sql.push("p.tenant_id = ").bind(tenant.id).push(" AND p.seq > ").bind(after).push(" AND p.seq <= ").bind(upto);
    sql.push(" AND (p.actor_id IS NULL OR p.actor_id <> s.user_id) AND ");
    preference::push_wants(&mut sql, tenant, "s.user_id", "p");
    sql.push(" GROUP BY p.seq");
    sql.all(db).await?.iter().map(|row| Ok((row.try_get("", "seq")?, row.try_get("", "size")?))).collect()
}

/// All users whom the tenant had heard of.
async fn everyone(db: &impl ConnectionTrait, tenant: &Tenant, seq: Seq) -> Result<i64> {
    let mut sql = Sql::new(db);
    sql.push("SELECT count(*) AS size FROM notification n JOIN message_type mt ON mt.id = n.type_id JOIN users u ON ");
    sql.push("u.tenant_id = n.tenant_id AND u.created_at <= n.published_at WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.seq = ").bind(seq).push(" AND ");
    preference::push_wants(&mut sql, tenant, "u.id", "n");
    Ok(sql.one(db).await?.map_or(Ok(0), |row| row.try_get("", "size"))?)
}

//! What is no longer wanted: views that nobody touched for a year, and idempotency keys past the retention window.

use entity::ids::{TenantId, ViewId};

use super::TOUCH;
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::error::Result;
use crate::hub::Notice;
use crate::sql::Sql;

/// How long a view stays without an activity, a visit or a newcomer, in milliseconds: a year.
const UNTOUCHED: Millis = 365 * 24 * 60 * 60 * 1000;

/// Views of one batch, each with all its visits and keys.
const VIEWS: i64 = 100;

/// Keys of one batch; more only where they were used in the same millisecond.
const KEYS: i64 = 5000;

/// Deletes a batch of the views that nobody touched for a year, with their visits and keys, and a batch of the keys that
/// were used before the retention window, of all tenants. Returns how many views and keys; call it again until it is 0.
///
/// Each batch is a transaction of its own. Safe while others read and write, and on several nodes at once.
pub async fn sweep(app: &App) -> Result<u64> {
    let now = app.now();
    let views = transaction!(app.db, |txn| sweep_views(txn, now - UNTOUCHED - TOUCH).await)?;
    let keys = transaction!(app.db, |txn| sweep_keys(txn, now - app.config.retention_millis()).await)?;
    Ok(views.len() as u64 + keys)
}

/// Candidates come from `view_touched_at`; locked, each is looked at again, for somebody may have touched it meanwhile.
async fn sweep_views(txn: &Transaction, before: Millis) -> Result<Vec<(TenantId, ViewId)>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT v.id FROM view v WHERE v.touched_at < ").bind(before);
    sql.push(" ORDER BY v.touched_at LIMIT ").bind(VIEWS);
    let rows = sql.all(txn).await?;
    let candidates = rows.iter().map(|row| Ok(row.try_get("", "id")?)).collect::<Result<Vec<ViewId>>>()?;
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut sql = Sql::new(txn);
    sql.push("SELECT v.tenant_id, v.id FROM view v WHERE v.id")
        .among(&candidates)
        .push(" AND v.touched_at < ")
        .bind(before);
    sql.push(" ORDER BY v.code, v.id").for_update();
    let rows = sql.all(txn).await?;
    let gone = rows.iter().map(|row| Ok((row.try_get("", "tenant_id")?, row.try_get("", "id")?)));
    let gone = gone.collect::<Result<Vec<(TenantId, ViewId)>>>()?;
    let views: Vec<ViewId> = gone.iter().map(|(_, view)| *view).collect();
    for (table, column) in [("view_visit", "view_id"), ("activity_key", "view_id"), ("view", "id")] {
        let mut sql = Sql::new(txn);
        sql.push(&format!("DELETE FROM {table} WHERE {column}")).among(&views);
        sql.run(txn).await?;
    }
    for &(tenant, view) in &gone {
        txn.tell(Notice { views: vec![view], ..Notice::of(tenant) });
    }
    Ok(gone)
}

/// A range of `activity_key_created_at`, cut off where the batch ends.
async fn sweep_keys(txn: &Transaction, before: Millis) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT k.created_at FROM activity_key k WHERE k.created_at < ").bind(before);
    sql.push(" ORDER BY k.created_at LIMIT 1 OFFSET ").bind(KEYS - 1);
    let end: Millis = sql.one(txn).await?.map_or(Ok(before - 1), |row| row.try_get("", "created_at"))?;
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM activity_key WHERE created_at <= ").bind(end);
    sql.run(txn).await
}

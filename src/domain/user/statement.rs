//! Statements over users that are written by hand.

use entity::prelude::*;

use crate::database::Sql;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};

/// The newest seq published before `instant`. One statement, so that a send between two cannot be passed over: the first of
/// a range of `notification_published_at`, and the tenant's row.
pub async fn before(db: &impl ConnectionTrait, tenant: &Tenant, instant: i64) -> Result<i64> {
    #[derive(FromQueryResult)]
    struct Row {
        cursor_seq: i64,
    }
    let mut sql = Sql::new(db);
    sql.push("SELECT COALESCE((SELECT n.seq - 1 FROM notification n WHERE n.tenant_id = ")
        .bind(tenant.id)
        .push(" AND n.published_at >= ")
        .bind(instant)
        .push(" ORDER BY n.published_at, n.seq LIMIT 1), t.last_seq) AS cursor_seq FROM tenant t WHERE t.id = ")
        .bind(tenant.id);
    let row = sql.row::<Row>(db).await?.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    Ok(row.cursor_seq)
}

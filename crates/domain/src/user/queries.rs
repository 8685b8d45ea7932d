//! Hand-written statements about users.

use entity::prelude::*;
use sea_orm::DbBackend;

use crate::tenant::Tenant;
use base::error::{Error, Result};
use store::SqlBuilder;

/// The newest seq published before `instant`. One statement, so that no send between two can be missed: the first row
/// of a range of `notification_published_at`, and the tenant's row.
pub async fn seq_before(db: &impl ConnectionTrait, tenant: &Tenant, instant: i64) -> Result<i64> {
    #[derive(FromQueryResult)]
    struct Row {
        cursor_seq: i64,
    }
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT COALESCE((SELECT n.seq - 1 FROM notification n WHERE n.tenant_id = ")
        .bind(tenant.id)
        .push(" AND n.published_at >= ")
        .bind(instant)
        .push(" ORDER BY n.published_at, n.seq LIMIT 1), t.last_seq) AS cursor_seq FROM tenant t WHERE t.id = ")
        .bind(tenant.id);
    let row = sql.fetch_optional::<Row>(db).await?.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    Ok(row.cursor_seq)
}

/// How many users a tenant has, at most `most`: that many rows of a range of `users_external_id`.
pub async fn count_users(db: &impl ConnectionTrait, tenant: &Tenant, most: i64) -> Result<i64> {
    #[derive(FromQueryResult)]
    struct Row {
        size: i64,
    }
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT count(*) AS size FROM (SELECT 1 AS one FROM users u WHERE u.tenant_id = ").bind(tenant.id);
    sql.push(" LIMIT ").bind(most).push(") x");
    Ok(sql.fetch_optional::<Row>(db).await?.map_or(0, |row| row.size))
}

/// The field to search by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixField {
    /// The backend's id.
    Id,
    /// The folded name. The text is folded, too.
    Name,
}

/// Up to `many` profiles of users with a field that begins with a text, in the field's order: a range of
/// `users_external_id` (PostgreSQL: `users_id_prefix`) or `users_folded_name`. Not LIKE, because case and wildcards
/// differ between databases.
pub fn select_by_prefix(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (what, text): (PrefixField, &str),
    many: u64,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    let (column, ties) = match what {
        PrefixField::Id => ("u.external_id", ""),
        PrefixField::Name => ("u.folded_name", ", u.id"),
    };
    let order = if sql.backend() == DbBackend::Postgres { " COLLATE \"C\"" } else { "" };
    sql.push("SELECT u.id, u.external_id, u.name, u.avatar_url, u.locale FROM users u WHERE u.tenant_id = ");
    sql.bind(tenant.id).push(&format!(" AND {column}{order} >= ")).bind(text);
    // All texts with this beginning sort before it plus the last of all characters, which no text contains.
    sql.push(&format!(" AND {column}{order} < ")).bind(format!("{text}{}", char::MAX));
    sql.push(&format!(" ORDER BY {column}{order}{ties} LIMIT ")).bind(many);
    sql
}

//! Finds rows about users in all tables.

use entity::ids::UserId;
use entity::job::JobKind;
use entity::prelude::*;
use sea_orm::EntityName;

use base::error::Result;
use domain::tenant::Tenant;
use store::SqlBuilder;

/// Notifications scanned in one transaction.
pub const NOTIFICATIONS: i64 = 5000;

/// The open interval between two neighbouring user ids, or between one and an end of all ids.
pub type IdGap = (i64, i64);

/// The first user id with rows within a gap, and the end of the gap.
#[derive(FromQueryResult)]
pub struct FirstOrphanRow {
    pub before_id: i64,
    pub user_id: UserId,
}

/// For each gap, the first user id with rows in the table of `user`, the first column of its key: a probe per gap.
pub fn select_first_in_gaps<C: ColumnTrait>(db: &impl ConnectionTrait, user: C, gaps: &[IdGap]) -> SqlBuilder {
    let (table, user) = (C::EntityName::default(), user.as_str());
    let table = table.table_name();
    let mut sql = SqlBuilder::new(db);
    for (place, (after, before)) in gaps.iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL " } else { "" }).push("SELECT x.before_id, x.user_id FROM (SELECT ");
        sql.bind(*before).push(&format!(" AS before_id, o.{user} AS user_id FROM {table} o WHERE o.{user} > "));
        sql.bind(*after).push(&format!(" AND o.{user} < ")).bind(*before);
        sql.push(&format!(" ORDER BY o.{user} LIMIT 1) x"));
    }
    sql
}

/// An id that belongs to no user.
#[derive(FromQueryResult)]
pub struct OrphanRow {
    pub user_id: UserId,
}

/// Ids in the column `user`, in a part of the sent notifications, that belong to no user: a range of `key`, and a probe
/// of `users` for each row.
pub fn select_orphans<C: ColumnTrait>(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    from: i64,
    (key, user): (C, C),
) -> SqlBuilder {
    let (table, key, user) = (C::EntityName::default(), key.as_str(), user.as_str());
    let table = table.table_name();
    let mut sql = SqlBuilder::new(db);
    sql.push(&format!("SELECT DISTINCT x.{user} AS user_id FROM {table} x WHERE x.tenant_id = ")).bind(tenant.id);
    sql.push(&format!(" AND x.{key} >= ")).bind(from).push(&format!(" AND x.{key} < ")).bind(from + NOTIFICATIONS);
    sql.push(&format!(" AND x.{user} IS NOT NULL AND (SELECT u.id FROM users u WHERE u.id = x.{user}) IS NULL"));
    sql
}

/// Whether an id belongs to a user, or to one under erasure: a probe of the key of `users`, and of the few jobs.
pub async fn is_known_user(db: &impl ConnectionTrait, user: UserId) -> Result<bool> {
    #[derive(FromQueryResult)]
    struct ExistsRow {}
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT u.id FROM users u WHERE u.id = ").bind(user).push(" UNION ALL SELECT j.subject_id FROM job j ");
    sql.push(&format!("WHERE j.kind = {} AND j.subject_id = ", JobKind::Erase as i16)).bind(user);
    Ok(sql.fetch_optional::<ExistsRow>(db).await?.is_some())
}

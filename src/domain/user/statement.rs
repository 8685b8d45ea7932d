//! Statements over users that are written by hand.

use entity::ids::UserId;
use entity::job::Kind;
use entity::prelude::*;
use sea_orm::{EntityName, QueryResult};

use super::Profile;
use super::erase::NOTIFICATIONS;
use super::orphan::Gap;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::Sql;

impl Profile {
    /// The columns that `read` wants, of the users table under `alias`.
    pub fn columns(alias: &str) -> String {
        format!(
            "{alias}.id AS {alias}_id, {alias}.external_id AS {alias}_external_id, {alias}.name AS {alias}_name, \
             {alias}.avatar_url AS {alias}_avatar_url, {alias}.locale AS {alias}_locale"
        )
    }

    /// A user of a row, if there is one in it.
    pub fn read(row: &QueryResult, alias: &str) -> Result<Option<Self>> {
        Ok(Option::from_query_result(row, &format!("{alias}_"))?)
    }
}

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

/// The first within a gap, which ends before somebody.
#[derive(FromQueryResult)]
pub struct First {
    pub before_id: i64,
    pub user_id: UserId,
}

/// The first within each of the gaps who has rows in the table of `user`, which is the first column of its key: a probe of
/// that a gap.
pub fn first_within<C: ColumnTrait>(db: &impl ConnectionTrait, user: C, gaps: &[Gap]) -> Sql {
    let (table, user) = (C::EntityName::default(), user.as_str());
    let table = table.table_name();
    let mut sql = Sql::new(db);
    for (place, (after, before)) in gaps.iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL " } else { "" }).push("SELECT x.before_id, x.user_id FROM (SELECT ");
        sql.bind(*before).push(&format!(" AS before_id, o.{user} AS user_id FROM {table} o WHERE o.{user} > "));
        sql.bind(*after).push(&format!(" AND o.{user} < ")).bind(*before);
        sql.push(&format!(" ORDER BY o.{user} LIMIT 1) x"));
    }
    sql
}

/// Somebody who is no user.
#[derive(FromQueryResult)]
pub struct Stranger {
    pub user_id: UserId,
}

/// Who is named by `user` in a part of what was sent and is no user: a range of `key`, and a probe of `users` for each time.
pub fn strangers_of<C: ColumnTrait>(db: &impl ConnectionTrait, tenant: &Tenant, from: i64, (key, user): (C, C)) -> Sql {
    let (table, key, user) = (C::EntityName::default(), key.as_str(), user.as_str());
    let table = table.table_name();
    let mut sql = Sql::new(db);
    sql.push(&format!("SELECT DISTINCT x.{user} AS user_id FROM {table} x WHERE x.tenant_id = ")).bind(tenant.id);
    sql.push(&format!(" AND x.{key} >= ")).bind(from).push(&format!(" AND x.{key} < ")).bind(from + NOTIFICATIONS);
    sql.push(&format!(" AND x.{user} IS NOT NULL AND (SELECT u.id FROM users u WHERE u.id = x.{user}) IS NULL"));
    sql
}

/// Whether somebody is a user, or being erased: a probe of the key of `users`, and the few jobs that there are.
pub async fn is_known(db: &impl ConnectionTrait, user: UserId) -> Result<bool> {
    #[derive(FromQueryResult)]
    struct Row {}
    let mut sql = Sql::new(db);
    sql.push("SELECT u.id FROM users u WHERE u.id = ").bind(user).push(" UNION ALL SELECT j.subject_id FROM job j ");
    sql.push(&format!("WHERE j.kind = {} AND j.subject_id = ", Kind::Erase as i16)).bind(user);
    Ok(sql.row::<Row>(db).await?.is_some())
}

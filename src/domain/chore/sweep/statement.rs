//! Statements of the sweep that are written by hand.

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use sea_orm::DbBackend;

use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::tenant::Tenant;

/// A user, and whether there is something of theirs to delete.
#[derive(FromQueryResult)]
pub struct Looked {
    pub id: UserId,
    pub is_old: i32,
}

/// The users after one, so many of them at most: a probe of `inbox_item`'s key, the expired items of each, and their marks.
pub fn with_something_old(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (upto, expired): (Seq, Millis),
    (after, many): (UserId, u64),
) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT u.id, CASE WHEN (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.seq <= ").bind(upto);
    sql.push(" LIMIT 1) IS NOT NULL OR (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.expires_at <= ");
    sql.bind(expired).push(" LIMIT 1) IS NOT NULL OR (SELECT m.read_at FROM read_mark m WHERE m.user_id = u.id ");
    sql.push("AND m.read_upto <= ").bind(upto).push(" LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END AS is_old ");
    sql.push("FROM users u WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id > ").bind(after);
    sql.push(" ORDER BY u.id LIMIT ").bind(many);
    sql
}

/// Deletes so many items at most that are old, or have expired, in the inboxes of users: what each of them has is walked.
/// An inbox that nobody has looked into since may not know yet that something was put off: there the notification decides, a
/// probe of `notification_seq` for each item that has expired.
pub fn delete_old(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
    (upto, expired, most): (Seq, Millis, u64),
) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("DELETE FROM inbox_item WHERE (user_id, seq) IN (");
    if sql.backend() == DbBackend::MySql {
        // MySQL reads what it deletes from only where it has been read before.
        sql.push("SELECT o.user_id, o.seq FROM (");
    }
    sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id").among(users);
    sql.push(" AND (i.seq <= ").bind(upto).push(" OR (i.expires_at <= ").bind(expired);
    sql.push(" AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.seq = i.seq AND (n.expires_at IS NULL OR n.expires_at > ").bind(expired);
    sql.push(")))) LIMIT ").bind(most);
    if sql.backend() == DbBackend::MySql {
        sql.push(") o");
    }
    sql.push(")");
    sql
}

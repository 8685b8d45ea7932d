//! Hand-written SQL of the sweep.

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use sea_orm::DbBackend;

use base::clock::Millis;
use domain::tenant::Tenant;
use store::SqlBuilder;

/// A user. `is_old` is 1 if they have rows to delete.
#[derive(FromQueryResult)]
pub struct UserSweepRow {
    pub id: UserId,
    pub is_old: i32,
}

/// The next `many` users by id. Each costs a probe of `inbox_item`'s key, of their expired items and of their marks.
pub fn select_users_to_sweep(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (upto, expired): (Seq, Millis),
    (after, many): (UserId, u64),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT u.id, CASE WHEN (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.seq <= ").bind(upto);
    sql.push(" LIMIT 1) IS NOT NULL OR (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.expires_at <= ");
    sql.bind(expired).push(" LIMIT 1) IS NOT NULL OR (SELECT m.read_at FROM read_mark m WHERE m.user_id = u.id ");
    sql.push("AND m.read_upto <= ").bind(upto).push(" LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END AS is_old ");
    sql.push("FROM users u WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id > ").bind(after);
    sql.push(" ORDER BY u.id LIMIT ").bind(many);
    sql
}

/// Deletes at most `most` old or expired items of users; walks all items of each. An unsynced inbox may not know that
/// an expiry was postponed, so the notification decides: a probe of `notification_seq` for each expired item.
pub fn delete_old_items(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
    (upto, expired, most): (Seq, Millis, u64),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("DELETE FROM inbox_item WHERE (user_id, seq) IN (");
    if sql.backend() == DbBackend::MySql {
        // MySQL can select from the table it deletes from only through a derived table.
        sql.push("SELECT o.user_id, o.seq FROM (");
    }
    sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id").push_list(users);
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

//! The statement that revalidates cached data of inboxes.

use entity::columns;
use entity::ids::{ChannelId, UserId};
use entity::prelude::FromQueryResult;
use sea_orm::ConnectionTrait;

use crate::inbox::freshness::{self, InboxPosition, ReadBound, push_versions};
use crate::tenant::Tenant;
use base::clock::Millis;
use model::cache_validator::InboxVersions;
use store::{SqlBuilder, Store};

/// A time that never comes.
const NEVER: &str = "9223372036854775807";

columns! {
    /// The columns that follow those of an inbox or a sender.
    #[derive(Debug)]
    pub struct ExpiryColumns {
        /// When a notification of the tenant last expired.
        pub expired_at: Millis = "expired_at",
        /// When the next one expires. Never, without Redis.
        pub expires_at: Millis = "expires_at",
        /// 1 for a sender.
        pub is_sender: i32 = "is_sender",
    }
}

/// A row: the freshness of an inbox, or a sender. For a sender, `version` is the version of their profile.
pub type VersionRow = ((InboxPosition, InboxVersions), ExpiryColumns);

/// A channel that a user listens to. `None` if there are none, or too many.
#[derive(Debug, FromQueryResult)]
pub struct SubscribedChannelRow {
    pub user_id: UserId,
    pub channel_id: Option<ChannelId>,
    pub subscription_count: i64,
}

/// Selects the freshness of the inboxes, the tenant's last expiry, and a row for each sender.
///
/// On top of the freshness check, it costs one probe of `inbox_item`'s key per user, one of `users` per sender, and one
/// of `notification_tenant_expires_at` (two with Redis).
pub fn select_versions(
    store: &Store,
    tenant: &Tenant,
    (mut users, senders): (Vec<UserId>, &[UserId]),
    reach: ReadBound,
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<(InboxPosition, InboxVersions)>();
    sql.push(", COALESCE((SELECT n.expires_at FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.expires_at <= ").bind(now).push(" ORDER BY n.expires_at DESC LIMIT 1), 0) AS expired_at");
    sql.push(", ");
    if store.invalidation.is_some() {
        sql.push("COALESCE((SELECT n.expires_at FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
        sql.push(" AND n.expires_at > ").bind(now).push(" ORDER BY n.expires_at LIMIT 1), ").push(NEVER).push(")");
    } else {
        sql.push(NEVER);
    }
    sql.push(" AS expires_at, 0 AS is_sender FROM (");
    freshness::pad_users(&sql, &mut users);
    freshness::push_positions(&mut sql, tenant, &users, reach, &push_versions);
    sql.push(") h");
    if !senders.is_empty() {
        sql.push(" UNION ALL SELECT s.id, 0, 0, 0, 0, s.profile_version, 0, 0, 0, 0, 1 FROM users s WHERE s.id")
            .push_list(senders);
    }
    sql
}

/// The subscriptions of users, except of users with more than `most`: a range of `subscription`'s key for each.
pub fn select_subscriptions(db: &impl ConnectionTrait, users: &[UserId], most: i64) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT u.id AS user_id, s.channel_id, u.subscription_count FROM users u ");
    sql.push("LEFT JOIN subscription s ON s.user_id = u.id AND u.subscription_count <= ").bind(most);
    sql.push(" WHERE u.id").push_list(users);
    sql
}

//! SQL for channels and their listeners.

use entity::channel::ChannelKind;
use entity::ids::{ChannelId, UserId};
use entity::statement::LIST;
use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::inbox::freshness::NEWEST;
use crate::tenant::Tenant;
use base::error::Result;
use store::{SqlBuilder, Transaction};

/// The users with publications on one of these channels that they have not synced: a probe of `publication`'s key for
/// each subscription.
pub async fn find_unsynced(db: &impl ConnectionTrait, users: &[UserId], channels: &[ChannelId]) -> Result<Vec<UserId>> {
    #[derive(FromQueryResult)]
    struct UnsyncedUserRow {
        id: UserId,
    }
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT DISTINCT u.id FROM users u JOIN subscription s ON s.user_id = u.id WHERE u.id").push_list(users);
    sql.push(" AND s.channel_id").push_list(channels).push(" AND ").push(NEWEST).push(" > u.cursor_seq AND ");
    sql.push(NEWEST).push(" > s.since_seq ORDER BY u.id");
    Ok(sql.fetch_by_name::<UnsyncedUserRow>(db).await?.into_iter().map(|row| row.id).collect())
}

/// How many distinct users groups have, and how many memberships.
#[derive(Debug, FromQueryResult)]
pub struct MembershipCounts {
    pub users: i64,
    pub memberships: i64,
}

/// Counts them, up to `most` memberships: ranges of `subscription_channel_user`.
pub async fn count_memberships(
    db: &impl ConnectionTrait,
    channels: &[ChannelId],
    most: i64,
) -> Result<Option<MembershipCounts>> {
    let mut sql = SqlBuilder::new(db);
    sql.push(
        "SELECT count(DISTINCT x.user_id) AS users, count(*) AS memberships FROM (SELECT s.user_id FROM subscription s ",
    );
    sql.push("WHERE s.channel_id").push_list(channels).push(" LIMIT ").bind(most).push(") x");
    sql.fetch_optional(db).await
}

/// A channel. `is_unused` is 1 if it can be deleted.
#[derive(Debug, FromQueryResult)]
pub struct ChannelSweepRow {
    pub id: ChannelId,
    pub code: String,
    pub is_unused: i32,
}

/// The next channels of a kind after a code: a range of `channel_code`, and three probes of keys for each.
pub async fn next_candidates(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    kind: ChannelKind,
    after: &str,
) -> Result<Vec<ChannelSweepRow>> {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT channel.id, channel.code, CASE WHEN 1 = 1");
    push_unused(&mut sql);
    sql.push(" THEN 1 ELSE 0 END AS is_unused FROM channel WHERE channel.tenant_id = ").bind(tenant.id);
    sql.push(" AND channel.kind = ").bind(kind).push(" AND channel.code > ").bind(after);
    sql.push(" ORDER BY channel.code LIMIT ").bind(LIST as u64);
    sql.fetch_by_name(db).await
}

/// Deletes the unused ones of these channels, by key, with three probes of keys each. The caller has locked their rows.
pub async fn delete_unused(txn: &Transaction, channels: &[ChannelId]) -> Result<u64> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("DELETE FROM channel WHERE id").push_list(channels);
    push_unused(&mut sql);
    sql.execute(txn).await
}

/// Adds that `channel` has no listeners, users or groups, and no publications: three probes of keys.
fn push_unused(sql: &mut SqlBuilder) {
    for table in [
        "subscription x WHERE x.channel_id",
        "group_subscription x WHERE x.target_channel_id",
        "publication x WHERE x.channel_id",
    ] {
        sql.push(&format!(" AND NOT EXISTS (SELECT 1 FROM {table} = channel.id)"));
    }
}

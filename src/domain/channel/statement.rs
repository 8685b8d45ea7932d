//! SQL for channels and their listeners.

use entity::channel::Kind;
use entity::ids::{ChannelId, UserId};
use entity::statement::LIST;
use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::database::Sql;
use crate::database::Transaction;
use crate::domain::inbox::standing::NEWEST;
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// The users with publications on one of these channels that they have not synced: a probe of `publication`'s key for
/// each subscription.
pub async fn unheard(db: &impl ConnectionTrait, users: &[UserId], channels: &[ChannelId]) -> Result<Vec<UserId>> {
    #[derive(FromQueryResult)]
    struct Row {
        id: UserId,
    }
    let mut sql = Sql::new(db);
    sql.push("SELECT DISTINCT u.id FROM users u JOIN subscription s ON s.user_id = u.id WHERE u.id").among(users);
    sql.push(" AND s.channel_id").among(channels).push(" AND ").push(NEWEST).push(" > u.cursor_seq AND ");
    sql.push(NEWEST).push(" > s.since_seq ORDER BY u.id");
    Ok(sql.rows::<Row>(db).await?.into_iter().map(|row| row.id).collect())
}

/// How many distinct users and memberships groups have; stops at `most` memberships. Ranges of `subscription_channel`.
#[derive(Debug, FromQueryResult)]
pub struct Members {
    pub users: i64,
    pub places: i64,
}

/// Counts [`Members`].
pub async fn members(db: &impl ConnectionTrait, channels: &[ChannelId], most: i64) -> Result<Option<Members>> {
    let mut sql = Sql::new(db);
    sql.push(
        "SELECT count(DISTINCT x.user_id) AS users, count(*) AS places FROM (SELECT s.user_id FROM subscription s ",
    );
    sql.push("WHERE s.channel_id").among(channels).push(" LIMIT ").bind(most).push(") x");
    sql.row(db).await
}

/// A channel. `is_unused` is 1 if it can be deleted.
#[derive(Debug, FromQueryResult)]
pub struct Swept {
    pub id: ChannelId,
    pub code: String,
    pub is_unused: i32,
}

/// The next channels of a kind after a code: a range of `channel_code`, and three probes of keys for each.
pub async fn next(db: &impl ConnectionTrait, tenant: &Tenant, kind: Kind, after: &str) -> Result<Vec<Swept>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT channel.id, channel.code, CASE WHEN 1 = 1");
    push_unused(&mut sql);
    sql.push(" THEN 1 ELSE 0 END AS is_unused FROM channel WHERE channel.tenant_id = ").bind(tenant.id);
    sql.push(" AND channel.kind = ").bind(kind).push(" AND channel.code > ").bind(after);
    sql.push(" ORDER BY channel.code LIMIT ").bind(LIST as u64);
    sql.rows(db).await
}

/// Deletes the unused ones of these channels, by key, with three probes of keys each. The caller has locked their rows.
pub async fn delete_unused(txn: &Transaction, channels: &[ChannelId]) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM channel WHERE id").among(channels);
    push_unused(&mut sql);
    sql.run(txn).await
}

/// Adds that `channel` has no listeners, users or groups, and no publications: three probes of keys.
fn push_unused(sql: &mut Sql) {
    for table in [
        "subscription x WHERE x.channel_id",
        "group_subscription x WHERE x.target_channel_id",
        "publication x WHERE x.channel_id",
    ] {
        sql.push(&format!(" AND NOT EXISTS (SELECT 1 FROM {table} = channel.id)"));
    }
}

//! Beginning and ceasing to listen, for one user or many.
//!
//! Both sync the inboxes concerned first, in the same transaction: between a cursor and the change, nothing may be
//! lost and nothing may leak.

use entity::ids::{ChannelId, UserId};
use sea_orm::Value;

use crate::database::Transaction;
use crate::domain::inbox::sync;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::{Existing, Rows, Sql, insert};

/// The users listen to the channels from now on; who did already goes on. Returns how many subscriptions are new.
pub(super) async fn begin(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    let since = sync::within(txn, tenant, users, now).await?;
    let row = |(user, channel): (UserId, ChannelId)| -> Vec<Value> {
        vec![user.into(), channel.into(), since.into(), now.into()]
    };
    let mut created_count = 0;
    for &channel in channels {
        let new = newcomers(txn, channel, users).await?;
        let values = new.iter().map(|user| row((*user, channel))).collect();
        let columns = &["user_id", "channel_id", "since_seq", "created_at"];
        insert(txn, Rows { table: "subscription", columns, values }, Existing::Kept).await?;
        count(txn, &new, "+").await?;
        created_count += new.len() as u64;
    }
    Ok(created_count)
}

/// The users no longer listen to the channels. Returns how many subscriptions there were.
pub(super) async fn cease(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    sync::within(txn, tenant, users, now).await?;
    let mut removed_count = 0;
    for &channel in channels {
        let new = newcomers(txn, channel, users).await?;
        let present: Vec<UserId> = users.iter().filter(|user| !new.contains(user)).copied().collect();
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM subscription WHERE channel_id = ").bind(channel).push(" AND user_id").in_ids(&present);
        removed_count += sql.run(txn).await?;
        count(txn, &present, "-").await?;
    }
    Ok(removed_count)
}

/// Those of the users (whose rows are locked) who do not listen to the channel.
async fn newcomers(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<Vec<UserId>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.id").in_ids(users);
    sql.push(" AND NOT EXISTS (SELECT 1 FROM subscription s WHERE s.user_id = u.id AND s.channel_id = ");
    sql.bind(channel).push(") ORDER BY u.id");
    sql.all(txn).await?.iter().map(|row| Ok(row.try_get("", "id")?)).collect()
}

async fn count(txn: &Transaction, users: &[UserId], sign: &str) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let mut sql = Sql::new(txn);
    sql.push(&format!("UPDATE users SET subscription_count = subscription_count {sign} 1 WHERE id")).in_ids(users);
    sql.run(txn).await?;
    Ok(())
}

//! Closing channels: nothing is published to them any more, and whoever listened stops to, once they have what was.
//!
//! That costs the request the same however many listen. A job goes through the listeners afterwards: those whose inboxes
//! are beyond what was published to the channel are taken off it. The others are left alone, for an inbox that nobody
//! opens is not made; they are looked at again every hour, until they have looked or the sweep has deleted what was
//! published. Then the channel goes, too.

use entity::ids::{ChannelId, Seq, UserId};

use super::{Code, Kind, audiences, listen};
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::job::{self, Job, Next};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::Sql;

/// Listeners of one transaction, which locks their rows.
const LISTENERS: i64 = 500;

/// How long those are left alone who have not looked, in milliseconds.
const PATIENCE: Millis = 3_600_000;

/// How long what was published last waits for being counted, in milliseconds: who is taken off is not counted any more.
const COUNTING: Millis = 15_000;

/// Nobody hears any more of what a user does.
pub async fn close_actor(txn: &Transaction, tenant: &Tenant, user: UserId, now: Millis) -> Result<()> {
    let code = Code::Actor(user.0);
    if let Some(audience) = audiences(txn, tenant, &[code]).await?.into_values().next() {
        close(txn, tenant, audience.channel, now).await?;
    }
    Ok(())
}

/// Takes a channel out of use: what was published to it stays, and its code is free again.
pub(super) async fn close(txn: &Transaction, tenant: &Tenant, channel: ChannelId, now: Millis) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE channel SET kind = ").bind(Kind::Deleted as i16);
    sql.push(", code = ").bind(channel.to_string()).push(" WHERE id = ").bind(channel);
    sql.run(txn).await?;
    job::begin(txn, tenant, (job::Kind::Close, channel.0), None, now).await
}

/// Takes some listeners off a closed channel.
pub async fn step(txn: &Transaction, tenant: &Tenant, job: &Job, now: Millis) -> Result<Next> {
    let channel = ChannelId(job.subject);
    let newest = newest(txn, channel).await?;
    if counted(txn, tenant).await? < newest {
        return Ok(Next::At { place: job.place, due_at: now + COUNTING });
    }
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.user_id FROM subscription s WHERE s.channel_id = ").bind(channel);
    sql.push(" AND s.user_id > ").bind(job.place).push(" ORDER BY s.user_id LIMIT ").bind(LISTENERS);
    let rows = sql.all(txn).await?;
    let users = rows.iter().map(|row| row.try_get("", "user_id")).collect::<std::result::Result<Vec<UserId>, _>>()?;
    if let Some(last) = users.last() {
        listen::take_off(txn, channel, &users, newest).await?;
        return Ok(Next::At { place: last.0, due_at: 0 });
    }
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.user_id FROM subscription s WHERE s.channel_id = ").bind(channel).push(" LIMIT 1");
    if sql.one(txn).await?.is_some() {
        return Ok(Next::At { place: 0, due_at: now + PATIENCE });
    }
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM channel WHERE id = ").bind(channel);
    sql.run(txn).await?;
    Ok(Next::Done)
}

/// What was published to the channel last, and not yet swept.
async fn newest(txn: &Transaction, channel: ChannelId) -> Result<Seq> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT p.seq FROM publication p WHERE p.channel_id = ").bind(channel);
    sql.push(" ORDER BY p.seq DESC LIMIT 1");
    Ok(sql.one(txn).await?.map_or(Ok(Seq(0)), |row| row.try_get("", "seq"))?)
}

/// Up to where audiences were counted.
async fn counted(txn: &Transaction, tenant: &Tenant) -> Result<Seq> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT t.counted_seq FROM tenant t WHERE t.id = ").bind(tenant.id);
    Ok(sql.one(txn).await?.map_or(Ok(Seq(0)), |row| row.try_get("", "counted_seq"))?)
}

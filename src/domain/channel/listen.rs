//! Beginning and ceasing to listen, for one user or many.
//!
//! Both lock the users' rows, so that a sync comes before or after the whole of it. Who begins hears what is published after
//! the end of the log as it is then, wherever their cursor stands: an inbox that nobody has opened stays unmade. Who ceases
//! is synced first, in the same transaction, where something was published to the channel that they have not got. Sessions of the
//! users are told when it is committed. What a group subscribes to is published to its own channel: its members listen to that
//! already.

use entity::ids::{ChannelId, Seq, UserId};
use sea_orm::{ConnectionTrait, Value};

use crate::app::App;
use crate::database::Transaction;
use crate::domain::inbox::standing::NEWEST;
use crate::domain::inbox::sync;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{Existing, Rows, Sql, insert};

/// The most channels that a user may listen to and subscribe to one more, groups included.
const CHANNELS: i64 = 20_000;

/// A user listens to channels of their own choice from now on. Returns how many subscriptions are new; `CONFLICT` where they
/// are too many.
pub(super) async fn begin_one(
    txn: &Transaction,
    tenant: &Tenant,
    user: UserId,
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    let created_count = begin(txn, tenant, &[user], channels, now).await?;
    if created_count > 0 {
        let mut sql = Sql::new(txn);
        sql.push("SELECT u.subscription_count FROM users u WHERE u.id = ").bind(user);
        let many: i64 = sql.one(txn).await?.map_or(Ok(0), |row| row.try_get("", "subscription_count"))?;
        if many > CHANNELS {
            let message = format!("a user has at most {CHANNELS} subscriptions, follows and groups together");
            return Err(Error::Conflict(message));
        }
    }
    Ok(created_count)
}

/// The users listen to the channels from now on; who did already goes on. Returns how many subscriptions are new.
pub(super) async fn begin(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    let since = sync::held(txn, tenant, users).await?;
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
    txn.tell(Notice::listeners(tenant.id, users));
    Ok(created_count)
}

/// Brings those inboxes up to now that have to be when the users cease to listen to the channels. Call it before the
/// transaction, so that little is left to do in it.
pub(super) async fn before_ceasing(app: &App, tenant: &Tenant, users: &[UserId], channels: &[ChannelId]) -> Result<()> {
    let unheard = unheard(&app.db.read, users, channels).await?;
    if !unheard.is_empty() {
        sync::caught_up(app, tenant, &unheard).await?;
    }
    Ok(())
}

/// The users no longer listen to the channels. Returns how many subscriptions there were.
pub(super) async fn cease(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    sync::held(txn, tenant, users).await?;
    let unheard = unheard(txn, users, channels).await?;
    if !unheard.is_empty() {
        sync::within(txn, tenant, &unheard, now).await?;
    }
    let mut removed_count = 0;
    for &channel in channels {
        let new = newcomers(txn, channel, users).await?;
        let present: Vec<UserId> = users.iter().filter(|user| !new.contains(user)).copied().collect();
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM subscription WHERE channel_id = ").bind(channel).push(" AND user_id").among(&present);
        removed_count += sql.run(txn).await?;
        count(txn, &present, "-").await?;
    }
    txn.tell(Notice::listeners(tenant.id, users));
    Ok(removed_count)
}

/// Takes those of the users off a closed channel who are beyond the newest that was published to it, or began to listen
/// after that, or are no users any more.
pub(super) async fn take_off(txn: &Transaction, channel: ChannelId, users: &[UserId], newest: Seq) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id, u.cursor_seq FROM users u WHERE u.id").among(users).push(" ORDER BY u.id").for_update();
    let (mut behind, mut beyond) = (Vec::new(), Vec::new());
    for row in sql.all(txn).await? {
        let is_beyond = row.try_get::<Seq>("", "cursor_seq")? >= newest;
        if is_beyond { &mut beyond } else { &mut behind }.push(row.try_get::<UserId>("", "id")?);
    }
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.user_id FROM subscription s WHERE s.channel_id = ").bind(channel).push(" AND s.user_id");
    sql.among(&behind).push(" AND s.since_seq >= ").bind(newest);
    let late = sql.all(txn).await?;
    for user in late.iter().map(|row| row.try_get::<UserId>("", "user_id")) {
        let user = user?;
        behind.retain(|of| *of != user);
        beyond.push(user);
    }
    let off: Vec<UserId> = users.iter().filter(|user| !behind.contains(user)).copied().collect();
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM subscription WHERE channel_id = ").bind(channel).push(" AND user_id").among(&off);
    sql.run(txn).await?;
    count(txn, &beyond, "-").await
}

/// Those of the users to whom something was published on one of the channels that they have not got: a probe of
/// `publication`'s key for each subscription.
async fn unheard(db: &impl ConnectionTrait, users: &[UserId], channels: &[ChannelId]) -> Result<Vec<UserId>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT DISTINCT u.id FROM users u JOIN subscription s ON s.user_id = u.id WHERE u.id").among(users);
    sql.push(" AND s.channel_id").among(channels).push(" AND ").push(NEWEST).push(" > u.cursor_seq AND ");
    sql.push(NEWEST).push(" > s.since_seq ORDER BY u.id");
    sql.all(db).await?.iter().map(|row| Ok(row.try_get("", "id")?)).collect()
}

/// Those of the users (whose rows are locked) who do not listen to the channel.
async fn newcomers(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<Vec<UserId>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.id").among(users);
    sql.push(" AND NOT EXISTS (SELECT 1 FROM subscription s WHERE s.user_id = u.id AND s.channel_id = ");
    sql.bind(channel).push(") ORDER BY u.id");
    sql.all(txn).await?.iter().map(|row| Ok(row.try_get("", "id")?)).collect()
}

async fn count(txn: &Transaction, users: &[UserId], sign: &str) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let mut sql = Sql::new(txn);
    sql.push(&format!("UPDATE users SET subscription_count = subscription_count {sign} 1 WHERE id")).among(users);
    sql.run(txn).await?;
    Ok(())
}

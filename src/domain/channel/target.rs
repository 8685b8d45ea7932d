//! Subscriptions to targets, of users and of groups.

use entity::ids::{ChannelId, UserId};
use sea_orm::Value;

use super::{Code, Kind, listen, open};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::domain::{catalogue, check};
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

/// The most actions of one call, and those that one transaction unsubscribes from.
const ACTIONS: usize = 100;

/// Something that happens are done to: a document, an order, a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub target_type: String,
    pub id: String,
}

impl Target {
    /// Refuses ids that are none.
    pub fn check(&self) -> Result<()> {
        check::code("target.type", &self.target_type)?;
        check::code("target.id", &self.id)
    }

    /// Its channel for an action.
    pub fn channel(&self, action: &str) -> Code {
        let Self { target_type, id } = self.clone();
        Code::Target { target_type, target_id: id, action: action.to_owned() }
    }
}

/// Somebody listens to an action on a target.
#[derive(Clone, Debug)]
pub struct TopicSubscription {
    pub channel: ChannelId,
    pub target: Target,
    pub action: String,
    pub created_at: Millis,
}

/// What subscribing did.
#[derive(Debug)]
pub struct Subscribed {
    /// All that were asked for, new or not.
    pub subscriptions: Vec<TopicSubscription>,
    pub created_count: u64,
}

/// Who subscribes.
#[derive(Clone, Copy, Debug)]
pub enum Listener {
    User(UserId),
    /// All members of the group with this channel, whoever they are when something happens.
    Group(ChannelId),
}

/// The actions meant by a reason of the catalogue or by themselves: exactly one of the two must be given.
pub async fn resolve_actions(
    app: &App,
    tenant: &Tenant,
    reason: Option<&str>,
    actions: Option<Vec<String>>,
) -> Result<Vec<String>> {
    let actions = match (reason, actions) {
        (Some(reason), None) => {
            let catalogue = catalogue::current(app, tenant).await?;
            let actions = catalogue.reasons.get(reason).cloned();
            return actions.ok_or_else(|| Error::bad_input("reason", format!("no reason {reason:?}")));
        }
        (None, Some(actions)) if !actions.is_empty() => actions,
        _ => return Err(Error::bad_input("actions", "give either a reason or at least one action")),
    };
    check::count("actions", actions.len(), ACTIONS)?;
    actions.iter().try_for_each(|action| check::code("actions", action))?;
    Ok(actions)
}

/// Subscribes to actions on a target, from now on. Doing so again changes nothing.
pub async fn subscribe(
    app: &App,
    tenant: &Tenant,
    who: Listener,
    target: &Target,
    actions: Vec<String>,
) -> Result<Subscribed> {
    target.check()?;
    let mut actions = actions;
    actions.sort();
    actions.dedup();
    let codes: Vec<Code> = actions.iter().map(|action| target.channel(action)).collect();
    let now = app.now();
    let subscribed = transaction!(app.db, |txn| {
        let channels = open(txn, tenant, &codes, now).await?;
        let created_count = match who {
            Listener::User(user) => listen::begin_one(txn, tenant, user, &channels, now).await?,
            Listener::Group(group) => begin_group(txn, group, &channels, now).await?,
        };
        let created = created_at(txn, who, &channels).await?;
        let subscriptions = channels.iter().zip(&actions).map(|(&channel, action)| TopicSubscription {
            channel,
            target: target.clone(),
            action: action.clone(),
            created_at: created.iter().find(|(of, _)| *of == channel).map_or(now, |(_, at)| *at),
        });
        Ok(Subscribed { subscriptions: subscriptions.collect(), created_count })
    })?;
    Ok(subscribed)
}

/// Ends subscriptions to actions on a target, or to all of them, a hundred at a time. Returns how many there were.
pub async fn unsubscribe(
    app: &App,
    tenant: &Tenant,
    who: Listener,
    target: &Target,
    actions: Option<&[String]>,
) -> Result<u64> {
    target.check()?;
    let channels: Vec<ChannelId> = listened(app, tenant, who, target)
        .await?
        .into_iter()
        .filter(|(_, action)| actions.is_none_or(|actions| actions.contains(action)))
        .map(|(channel, _)| channel)
        .collect();
    if channels.is_empty() {
        return Ok(0);
    }
    let (now, mut removed_count) = (app.now(), 0);
    for channels in channels.chunks(ACTIONS) {
        if let Listener::User(user) = who {
            listen::before_ceasing(app, tenant, &[user], channels).await?;
        }
        removed_count += transaction!(app.db, |txn| match who {
            Listener::User(user) => listen::cease(txn, tenant, &[user], channels, now).await,
            Listener::Group(group) => {
                let mut sql = Sql::new(txn);
                sql.push("DELETE FROM group_subscription WHERE group_channel_id = ").bind(group);
                sql.push(" AND target_channel_id").among(channels);
                sql.run(txn).await
            }
        })?;
    }
    Ok(removed_count)
}

/// A page of a user's subscriptions to targets, oldest channel first, after a channel; one more than `first`, so that
/// the caller sees whether there are more.
pub async fn subscriptions(
    app: &App,
    user: UserId,
    first: usize,
    after: Option<ChannelId>,
) -> Result<Vec<TopicSubscription>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT s.channel_id, s.created_at, c.code FROM subscription s JOIN channel c ON c.id = s.channel_id ")
        .push("WHERE s.user_id = ")
        .bind(user)
        .push(" AND s.channel_id > ")
        .bind(after.map_or(0, |channel| channel.0))
        .push(&format!(" AND c.kind = {} ORDER BY s.channel_id LIMIT ", Kind::Target as i16))
        .bind(i64::try_from(first).unwrap_or(i64::MAX - 1) + 1);
    let mut page = Vec::new();
    for row in sql.all(&app.db.read).await? {
        let Some((target_type, id, action)) = Code::parse_target(&row.try_get::<String>("", "code")?) else { continue };
        let target = Target { target_type, id };
        let (channel, created_at) = (row.try_get("", "channel_id")?, row.try_get("", "created_at")?);
        page.push(TopicSubscription { channel, target, action, created_at });
    }
    Ok(page)
}

async fn begin_group(txn: &Transaction, group: ChannelId, targets: &[ChannelId], now: i64) -> Result<u64> {
    let row = |target: &ChannelId| -> Vec<Value> { vec![group.into(), (*target).into(), now.into()] };
    // Locked, so that a group that is being deleted does not hear of anything for its members afterwards.
    let mut sql = Sql::new(txn);
    sql.push("SELECT c.id FROM channel c WHERE c.id = ").bind(group);
    sql.push(&format!(" AND c.kind = {}", Kind::Group as i16)).for_update();
    if sql.one(txn).await?.is_none() {
        return Err(Error::Conflict("the group was deleted in the meantime".into()));
    }
    let existing = created_at(txn, Listener::Group(group), targets).await?;
    let new = targets.iter().filter(|target| !existing.iter().any(|(of, _)| of == *target));
    let values: Vec<Vec<Value>> = new.map(row).collect();
    let created_count = values.len() as u64;
    let columns = &["group_channel_id", "target_channel_id", "created_at"];
    insert(txn, Rows { table: "group_subscription", columns, values }, Existing::Kept).await?;
    Ok(created_count)
}

async fn created_at(txn: &Transaction, who: Listener, channels: &[ChannelId]) -> Result<Vec<(ChannelId, Millis)>> {
    let mut sql = Sql::new(txn);
    match who {
        Listener::User(user) => {
            sql.push("SELECT channel_id AS id, created_at FROM subscription WHERE user_id = ").bind(user);
            sql.push(" AND channel_id").among(channels);
        }
        Listener::Group(group) => {
            sql.push("SELECT target_channel_id AS id, created_at FROM group_subscription WHERE group_channel_id = ");
            sql.bind(group).push(" AND target_channel_id").among(channels);
        }
    }
    sql.all(txn).await?.iter().map(|row| Ok((row.try_get("", "id")?, row.try_get("", "created_at")?))).collect()
}

/// The channels of a target that somebody listens to, with their actions: a walk over all that he listens to.
async fn listened(app: &App, tenant: &Tenant, who: Listener, target: &Target) -> Result<Vec<(ChannelId, String)>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT c.id, c.code FROM ");
    match who {
        Listener::User(user) => {
            sql.push("subscription s JOIN channel c ON c.id = s.channel_id WHERE s.user_id = ").bind(user);
        }
        Listener::Group(group) => {
            sql.push("group_subscription g JOIN channel c ON c.id = g.target_channel_id WHERE g.group_channel_id = ");
            sql.bind(group);
        }
    }
    sql.push(" AND c.tenant_id = ").bind(tenant.id).push(" AND c.kind = ").bind(Kind::Target as i16);
    // LIKE would need its wildcards escaped, and a range needs the same order of characters everywhere: the parts of
    // the code are compared as a prefix of a known length instead, within what this listener listens to.
    let prefix = target.channel("").text();
    let characters = i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX);
    sql.push(" AND substr(c.code, 1, ").bind(characters).push(") = ").bind(prefix);
    let rows = sql.all(&app.db.read).await?;
    let mut listened = Vec::new();
    for row in rows {
        if let Some((_, _, action)) = Code::parse_target(&row.try_get::<String>("", "code")?) {
            listened.push((row.try_get("", "id")?, action));
        }
    }
    Ok(listened)
}

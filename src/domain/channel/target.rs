//! Subscriptions to targets, of users and of groups.

use entity::channel::{self, Entity as Channel};
use entity::group_subscription::{self, Entity as GroupSubscription};
use entity::ids::{ChannelId, UserId};
use entity::prelude::*;
use entity::subscription::{self, Entity as Subscription};
use sea_orm::sea_query::{ExprTrait, Func};

use super::{Code, Kind, Target, listen, open};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::check;

/// The most actions of one call, and those that one transaction unsubscribes from.
const ACTIONS: usize = 100;

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
                let removed = GroupSubscription::delete_many()
                    .filter(group_subscription::Column::GroupChannelId.eq(group))
                    .filter(group_subscription::Column::TargetChannelId.among(txn, channels));
                Ok(removed.exec(txn).await?.rows_affected)
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
    let rows = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
    let rows = rows.filter(subscription::Column::ChannelId.gt(after.unwrap_or_default()));
    let rows = rows.filter(channel::Column::Kind.eq(Kind::Target));
    let rows = rows.order_by_asc(subscription::Column::ChannelId).limit(first as u64 + 1).select_only();
    let rows = rows.columns([subscription::Column::ChannelId, subscription::Column::CreatedAt]);
    let rows = rows.column(channel::Column::Code).into_tuple::<(ChannelId, Millis, String)>();
    let mut page = Vec::new();
    for (channel, created_at, code) in rows.all(&app.db.read).await? {
        let Some((target_type, id, action)) = Code::parse_target(&code) else { continue };
        let target = Target { target_type, id };
        page.push(TopicSubscription { channel, target, action, created_at });
    }
    Ok(page)
}

async fn begin_group(txn: &Transaction, group: ChannelId, targets: &[ChannelId], now: i64) -> Result<u64> {
    // Locked, so that a group that is being deleted does not hear of anything for its members afterwards.
    let held = Channel::find_by_id(group).filter(channel::Column::Kind.eq(Kind::Group)).for_update(txn);
    if held.one(txn).await?.is_none() {
        return Err(Error::Conflict("the group was deleted in the meantime".into()));
    }
    let existing = created_at(txn, Listener::Group(group), targets).await?;
    let new = targets.iter().filter(|target| !existing.iter().any(|(of, _)| of == *target));
    let rows: Vec<_> = new.map(|target| [group.into(), (*target).into(), now.into()]).collect();
    let created_count = rows.len() as u64;
    let columns = [
        group_subscription::Column::GroupChannelId,
        group_subscription::Column::TargetChannelId,
        group_subscription::Column::CreatedAt,
    ];
    insert(txn, columns, rows, Existing::Kept).await?;
    Ok(created_count)
}

async fn created_at(txn: &Transaction, who: Listener, channels: &[ChannelId]) -> Result<Vec<(ChannelId, Millis)>> {
    Ok(match who {
        Listener::User(user) => {
            let own = Subscription::of_user(user).filter(subscription::Column::ChannelId.among(txn, channels));
            own.all(txn).await?.into_iter().map(|row| (row.channel_id, row.created_at)).collect()
        }
        Listener::Group(group) => {
            let own = GroupSubscription::find().filter(group_subscription::Column::GroupChannelId.eq(group));
            let own = own.filter(group_subscription::Column::TargetChannelId.among(txn, channels));
            own.all(txn).await?.into_iter().map(|row| (row.target_channel_id, row.created_at)).collect()
        }
    })
}

/// The channels of a target that somebody listens to, with their actions: a walk over all that they listen to.
async fn listened(app: &App, tenant: &Tenant, who: Listener, target: &Target) -> Result<Vec<(ChannelId, String)>> {
    // LIKE would need its wildcards escaped, and a range needs the same order of characters everywhere: the parts of
    // the code are compared as a prefix of a known length instead, within what this listener listens to.
    let prefix = target.channel("").text();
    let characters = i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX);
    let start = Func::cust("substr").arg(channel::Column::Code.into_expr()).arg(1).arg(characters);
    let is_wanted = channel::Column::TenantId.eq(tenant.id).and(channel::Column::Kind.eq(Kind::Target));
    let is_wanted = is_wanted.and(Expr::expr(start).eq(prefix));
    let columns = [channel::Column::Id, channel::Column::Code];
    let listened: Vec<(ChannelId, String)> = match who {
        Listener::User(user) => {
            let own = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
            own.filter(is_wanted).select_only().columns(columns).into_tuple().all(&app.db.read).await?
        }
        Listener::Group(group) => {
            let own = GroupSubscription::find().filter(group_subscription::Column::GroupChannelId.eq(group));
            let own = own.join(JoinType::InnerJoin, group_subscription::Relation::Target.def());
            own.filter(is_wanted).select_only().columns(columns).into_tuple().all(&app.db.read).await?
        }
    };
    let action = |code: &str| Code::parse_target(code).map(|(_, _, action)| action);
    Ok(listened.into_iter().filter_map(|(channel, code)| Some((channel, action(&code)?))).collect())
}

//! Subscriptions of users and groups to targets.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use entity::channel::{self, Entity as Channel};
use entity::group_subscription::{self, Entity as GroupSubscription};
use entity::ids::{ChannelId, UserId};
use entity::prelude::*;
use entity::subscription::{self, Entity as Subscription};
use sea_orm::sea_query::{ExprTrait, Func};

use super::permit::{PermitIssuer, PermitSubject};
use super::{ActionTarget, ChannelCode, ChannelKind, open_channels, subscriptions};
use crate::catalogue;
use crate::tenant::Tenant;
use crate::user::{self, PerformedBy};
use base::clock::Millis;
use base::error::{Error, Result};
use model::list_page::PageRange;
use model::validate;
use store::{Store, Transaction, transaction};

/// Maximum actions per call, and unsubscriptions per transaction.
const ACTIONS: usize = 100;

/// A subscription to an action on a target.
#[derive(Clone, Debug)]
pub struct TopicSubscription {
    pub channel: ChannelId,
    pub target: ActionTarget,
    pub action: String,
    pub created_at: Millis,
}

/// The outcome of subscribing.
#[derive(Debug)]
pub struct SubscribeOutcome {
    /// All requested subscriptions, new or not.
    pub subscriptions: Vec<TopicSubscription>,
    pub created_count: u64,
}

/// The subscriber.
#[derive(Clone, Copy, Debug)]
pub enum ListenerId {
    User(UserId),
    /// All members of the group with this channel, as of the time of each notification.
    Group(ChannelId),
}

/// The actions to subscribe to.
#[derive(Clone, Debug)]
pub enum ActionChoice {
    /// These actions, 1 to 100.
    Actions(Vec<String>),
    /// The actions of a reason in the catalogue.
    Reason(String),
}

/// The chosen actions.
pub async fn resolve_actions(store: &Store, tenant: &Tenant, what: ActionChoice) -> Result<Vec<String>> {
    let actions = match what {
        ActionChoice::Actions(actions) => actions,
        ActionChoice::Reason(reason) => {
            let catalogue = catalogue::load_current(store, tenant).await?;
            let actions = catalogue.reasons.get(&reason).cloned();
            return actions.ok_or_else(|| {
                Error::bad_input(
                    "reason",
                    format!("names no reason: {reason:?}; create it with saveSubscriptionReason"),
                )
            });
        }
    };
    if actions.is_empty() {
        return Err(Error::bad_input("actions", "must name at least one action"));
    }
    validate::at_most("actions", actions.len(), ACTIONS)?;
    validate::identifiers("actions", &actions)?;
    Ok(actions)
}

/// Subscribes to actions on a target, from now on. Idempotent.
///
/// `FORBIDDEN` if a user asks for it and the tenant does not open the target's type to users.
pub async fn subscribe(
    store: &Store,
    tenant: &Tenant,
    by: PerformedBy<'_>,
    who: ListenerId,
    target: &ActionTarget,
    actions: Vec<String>,
) -> Result<SubscribeOutcome> {
    target.check()?;
    let mut actions = actions;
    actions.sort();
    actions.dedup();
    let codes: Vec<ChannelCode> = actions.iter().map(|action| target.channel(action)).collect();
    let mut permits = PermitIssuer::new(by, PermitSubject::TargetsOf(&target.target_type));
    loop {
        let permit = permits.issue_next(store, tenant).await?;
        let now = store.now();
        let subscribed = transaction!(store.db, |txn| {
            let channels = open_channels(txn, tenant, &codes, now).await?;
            let created_count = match who {
                ListenerId::User(user) => {
                    subscriptions::subscribe_user(txn, tenant, permit, user, &channels, now).await?
                }
                ListenerId::Group(group) => Some(subscribe_group(txn, group, &channels, now).await?),
            };
            let Some(created_count) = created_count else { return Ok(None) };
            let created = load_created_at(txn, who, &channels).await?;
            let subscriptions = channels.iter().zip(&actions).map(|(&channel, action)| TopicSubscription {
                channel,
                target: target.clone(),
                action: action.clone(),
                created_at: created.iter().find(|(of, _)| *of == channel).map_or(now, |(_, at)| *at),
            });
            Ok(Some(SubscribeOutcome { subscriptions: subscriptions.collect(), created_count }))
        })?;
        if let Some(subscribed) = subscribed {
            return Ok(subscribed);
        }
    }
}

/// A user to subscribe to actions on a target.
#[derive(Clone, Debug)]
pub struct SubscriptionRequest {
    /// The user's id in the tenant's backend.
    pub user: String,
    pub target: ActionTarget,
    pub actions: Vec<String>,
}

impl SubscriptionRequest {
    /// Rejects invalid ids and codes.
    pub fn check(&self) -> Result<()> {
        validate::identifier("user", &self.user)?;
        self.target.check()
    }

    fn channel_codes(&self) -> impl Iterator<Item = (&String, ChannelCode)> {
        self.actions.iter().map(|action| (&self.user, self.target.channel(action)))
    }
}

/// Subscribes users from now on, in transactions of 1,000 subscriptions. Creates users that were never mentioned.
/// Returns how many subscriptions are new.
pub async fn subscribe_all(store: &Store, tenant: &Tenant, subscribers: &[SubscriptionRequest]) -> Result<u64> {
    let wanted: Vec<(&String, ChannelCode)> = subscribers.iter().flat_map(SubscriptionRequest::channel_codes).collect();
    let mut created_count = 0;
    for wanted in wanted.chunks(LIST) {
        created_count += user::retry_if_erased(|| subscribe_batch(store, tenant, wanted)).await?;
    }
    Ok(created_count)
}

async fn subscribe_batch(store: &Store, tenant: &Tenant, wanted: &[(&String, ChannelCode)]) -> Result<u64> {
    let names: Vec<String> = wanted.iter().map(|(user, _)| (*user).clone()).collect();
    let users = user::find_or_create(store, tenant, "user", &names).await?;
    // In the same order for all transactions that create some of them, to avoid deadlocks.
    let texts: BTreeMap<String, &ChannelCode> = wanted.iter().map(|(_, code)| (code.stored_form(), code)).collect();
    let codes: Vec<ChannelCode> = texts.values().copied().cloned().collect();
    let now = store.now();
    transaction!(store.db, |txn| {
        let channels = open_channels(txn, tenant, &codes, now).await?;
        let channels: HashMap<&String, ChannelId> = texts.keys().zip(channels).collect();
        let pairs =
            users.iter().zip(wanted).filter_map(|(user, (_, code))| Some((*user, *channels.get(&code.stored_form())?)));
        subscriptions::subscribe_users(txn, tenant, &pairs.collect(), now).await
    })
}

/// How many subscriptions [`subscribe_all`] would create. Counts duplicates once.
pub async fn count_new_subscriptions(
    store: &Store,
    tenant: &Tenant,
    subscribers: &[SubscriptionRequest],
) -> Result<u64> {
    let wanted: HashSet<(&String, ChannelCode)> =
        subscribers.iter().flat_map(SubscriptionRequest::channel_codes).collect();
    let names: BTreeSet<String> = wanted.iter().map(|(user, _)| (*user).clone()).collect();
    let users = user::find_existing(store, tenant, &Vec::from_iter(names)).await?;
    let codes: Vec<ChannelCode> =
        wanted.iter().map(|(_, code)| code.clone()).collect::<HashSet<_>>().into_iter().collect();
    let channels = super::find_audiences(&store.db.read, tenant, &codes).await?;
    let pair = |(user, code): &(&String, ChannelCode)| Some((*users.get(*user)?, channels.get(code)?.channel));
    let present = subscriptions::find_existing(&store.db.read, &wanted.iter().filter_map(pair).collect()).await?;
    Ok((wanted.len() - present.len()) as u64)
}

/// Ends subscriptions to these actions on a target, or to all of them, 100 per transaction. Returns how many there
/// were, and their channels.
pub async fn unsubscribe(
    store: &Store,
    tenant: &Tenant,
    who: ListenerId,
    target: &ActionTarget,
    actions: Option<&[String]>,
) -> Result<(u64, Vec<ChannelId>)> {
    target.check()?;
    let all: Vec<ChannelId> = find_subscribed_channels(store, tenant, who, target)
        .await?
        .into_iter()
        .filter(|(_, action)| actions.is_none_or(|actions| actions.contains(action)))
        .map(|(channel, _)| channel)
        .collect();
    let (now, mut removed_count) = (store.now(), 0);
    for channels in all.chunks(ACTIONS) {
        if let ListenerId::User(user) = who {
            subscriptions::sync_before_unsubscribing(store, tenant, &[user], channels).await?;
        }
        removed_count += transaction!(store.db, |txn| match who {
            ListenerId::User(user) => subscriptions::end_subscriptions(txn, tenant, &[user], channels, now).await,
            ListenerId::Group(group) => {
                let removed = GroupSubscription::delete_many()
                    .filter(group_subscription::Column::GroupChannelId.eq(group))
                    .filter(group_subscription::Column::TargetChannelId.is_in_list(txn, channels));
                Ok(removed.exec(txn).await?.rows_affected)
            }
        })?;
    }
    Ok((removed_count, all))
}

/// A page of a user's subscriptions to targets, oldest channel first, and whether more follow: a range of
/// `subscription`'s key.
pub async fn list_subscriptions(
    store: &Store,
    user: UserId,
    slice: PageRange<ChannelId>,
) -> Result<(Vec<TopicSubscription>, bool)> {
    let rows = subscriptions::select_page(user, ChannelKind::Target, slice)
        .columns([subscription::Column::ChannelId, subscription::Column::CreatedAt]);
    let rows = rows.column(channel::Column::Code).into_tuple::<(ChannelId, Millis, String)>();
    let (rows, goes_on) = slice.make_page(rows.all(&store.db.read).await?);
    let topic = |(channel, created_at, code): (ChannelId, Millis, String)| parse_topic(channel, &code, created_at);
    Ok((rows.into_iter().filter_map(topic).collect(), goes_on))
}

/// The subscription to a channel; `None` if there is none.
pub async fn find_subscription(store: &Store, who: ListenerId, of: ChannelId) -> Result<Option<TopicSubscription>> {
    let columns = [channel::Column::Code];
    let found: Option<(String, Millis)> = match who {
        ListenerId::User(user) => {
            let own = Subscription::of_user(user).filter(subscription::Column::ChannelId.eq(of));
            let own = own.join(JoinType::InnerJoin, subscription::Relation::Channel.def()).select_only();
            own.columns(columns).column(subscription::Column::CreatedAt).into_tuple().one(&store.db.read).await?
        }
        ListenerId::Group(group) => {
            let own = GroupSubscription::find().filter(group_subscription::Column::GroupChannelId.eq(group));
            let own = own.filter(group_subscription::Column::TargetChannelId.eq(of));
            let own = own.join(JoinType::InnerJoin, group_subscription::Relation::Target.def()).select_only();
            own.columns(columns).column(group_subscription::Column::CreatedAt).into_tuple().one(&store.db.read).await?
        }
    };
    Ok(found.and_then(|(code, created_at)| parse_topic(of, &code, created_at)))
}

fn parse_topic(channel: ChannelId, code: &str, created_at: Millis) -> Option<TopicSubscription> {
    let (target_type, id, action) = ChannelCode::parse_target(code)?;
    Some(TopicSubscription { channel, target: ActionTarget { target_type, id }, action, created_at })
}

async fn subscribe_group(txn: &Transaction, group: ChannelId, targets: &[ChannelId], now: i64) -> Result<u64> {
    // Locks the group, so that a group that is being deleted cannot subscribe afterwards.
    let held = Channel::find_by_id(group).filter(channel::Column::Kind.eq(ChannelKind::Group)).for_update(txn);
    if held.one(txn).await?.is_none() {
        return Err(Error::Conflict("the group was deleted in the meantime".into()));
    }
    let existing = load_created_at(txn, ListenerId::Group(group), targets).await?;
    let new = targets.iter().filter(|target| !existing.iter().any(|(of, _)| of == *target));
    let rows: Vec<_> = new.map(|target| [group.into(), (*target).into(), now.into()]).collect();
    let created_count = rows.len() as u64;
    let columns = [
        group_subscription::Column::GroupChannelId,
        group_subscription::Column::TargetChannelId,
        group_subscription::Column::CreatedAt,
    ];
    insert(txn, columns, rows, ExistingRows::Kept).await?;
    Ok(created_count)
}

async fn load_created_at(
    txn: &Transaction,
    who: ListenerId,
    channels: &[ChannelId],
) -> Result<Vec<(ChannelId, Millis)>> {
    Ok(match who {
        ListenerId::User(user) => {
            let own = Subscription::of_user(user).filter(subscription::Column::ChannelId.is_in_list(txn, channels));
            own.all(txn).await?.into_iter().map(|row| (row.channel_id, row.created_at)).collect()
        }
        ListenerId::Group(group) => {
            let own = GroupSubscription::find().filter(group_subscription::Column::GroupChannelId.eq(group));
            let own = own.filter(group_subscription::Column::TargetChannelId.is_in_list(txn, channels));
            own.all(txn).await?.into_iter().map(|row| (row.target_channel_id, row.created_at)).collect()
        }
    })
}

/// The channels of a target that the listener subscribes to, with their actions: a walk over all of its subscriptions.
async fn find_subscribed_channels(
    store: &Store,
    tenant: &Tenant,
    who: ListenerId,
    target: &ActionTarget,
) -> Result<Vec<(ChannelId, String)>> {
    // `LIKE` would need escaped wildcards, and a range would need the same collation in every database. So this
    // compares a prefix of known length, within the listener's subscriptions.
    let prefix = target.channel("").stored_form();
    let characters = i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX);
    let start = Func::cust("substr").arg(channel::Column::Code.into_expr()).arg(1).arg(characters);
    let is_wanted = channel::Column::TenantId.eq(tenant.id).and(channel::Column::Kind.eq(ChannelKind::Target));
    let is_wanted = is_wanted.and(Expr::expr(start).eq(prefix));
    let columns = [channel::Column::Id, channel::Column::Code];
    let listened: Vec<(ChannelId, String)> = match who {
        ListenerId::User(user) => {
            let own = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
            own.filter(is_wanted).select_only().columns(columns).into_tuple().all(&store.db.read).await?
        }
        ListenerId::Group(group) => {
            let own = GroupSubscription::find().filter(group_subscription::Column::GroupChannelId.eq(group));
            let own = own.join(JoinType::InnerJoin, group_subscription::Relation::Target.def());
            own.filter(is_wanted).select_only().columns(columns).into_tuple().all(&store.db.read).await?
        }
    };
    let action = |code: &str| ChannelCode::parse_target(code).map(|(_, _, action)| action);
    Ok(listened.into_iter().filter_map(|(channel, code)| Some((channel, action(&code)?))).collect())
}

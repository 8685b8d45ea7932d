//! Starts and ends subscriptions of one user or many.
//!
//! Both lock the users' rows, so a sync happens entirely before or after them. A new subscriber gets everything that is
//! published after the current end of the log, regardless of their cursor, so unopened inboxes need no sync. Before a
//! subscription ends, the same transaction syncs the user if they have not received all of the channel's publications.
//! The users' sessions are notified after the commit. Publications to a target that a group subscribes to also go to
//! the group's own channel, so its members need no subscriptions of their own.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use entity::channel;
use entity::ids::{ChannelId, Seq, UserId};
use entity::prelude::*;
use entity::subscription::{self, Column, Entity as Subscription};
use entity::user::{self, Entity as User};
use sea_orm::Select;
use sea_orm::sea_query::ExprTrait;

use super::ChannelKind;
use super::permit::SubscribePermit;
use super::queries::find_unsynced;
use crate::counters;
use crate::inbox::sync::{self, LockedUsers};
use crate::tenant::Tenant;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::list_page::{ListEnd, PageRange};
use store::{Store, Transaction};

/// Pairs of several users and several channels per statement: the database reads up to the square of it in ranges.
const PAIRS: usize = 64;

/// The most channels of a user, groups included, with which they may still subscribe or follow. Groups are not limited.
const CHANNELS: i64 = 20_000;

/// A page of a user's channels of one kind, plus one row to tell whether more follow. Selects no columns yet. A range
/// of `subscription`'s key, with a probe of `channel` for each row.
pub(super) fn select_page(user: UserId, kind: ChannelKind, slice: PageRange<ChannelId>) -> Select<Subscription> {
    let mut rows = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
    rows = rows.filter(channel::Column::Kind.eq(kind)).limit(slice.many.saturating_add(1) as u64).select_only();
    if let Some(after) = slice.after {
        rows = rows.filter(Column::ChannelId.gt(after));
    }
    if let Some(before) = slice.before {
        rows = rows.filter(Column::ChannelId.lt(before));
    }
    match slice.from {
        ListEnd::First => rows.order_by_asc(Column::ChannelId),
        ListEnd::Last => rows.order_by_desc(Column::ChannelId),
    }
}

/// Subscribes a user to channels of their own choice, from now on. Returns how many subscriptions are new, or `None` if
/// the permit is outdated. `CONFLICT` if the user has too many.
pub(super) async fn subscribe_user(
    txn: &Transaction,
    tenant: &Tenant,
    permit: SubscribePermit,
    user: UserId,
    channels: &[ChannelId],
    now: i64,
) -> Result<Option<u64>> {
    let locked = sync::lock_users(txn, tenant, &[user]).await?;
    if !permit.is_valid_at(locked.catalogue_version) {
        return Ok(None);
    }
    let wanted = channels.iter().map(|channel| (user, *channel)).collect();
    subscribe_locked(txn, tenant, &wanted, locked, now).await?.into_created_count().map(Some)
}

/// Like [`subscribe_user`], for as many users as one transaction may lock, without a permit.
pub(super) async fn subscribe_users(
    txn: &Transaction,
    tenant: &Tenant,
    wanted: &SubscriptionPairs,
    now: i64,
) -> Result<u64> {
    lock_and_subscribe(txn, tenant, wanted, now).await?.into_created_count()
}

/// The outcome of subscribing.
pub(super) struct SubscriptionCount {
    /// How many subscriptions are new.
    pub created_count: u64,
    /// The largest number of channels that one of the users now listens to.
    most: i64,
}

impl SubscriptionCount {
    fn into_created_count(self) -> Result<u64> {
        if self.created_count > 0 && self.most > CHANNELS {
            let message = format!("a user has at most {CHANNELS} subscriptions, follows and groups together");
            return Err(Error::Conflict(message));
        }
        Ok(self.created_count)
    }
}

/// Users and the channels to subscribe them to.
pub(super) type SubscriptionPairs = BTreeSet<(UserId, ChannelId)>;

/// Subscribes at most 1,000 users to channels, from now on. Existing subscriptions stay as they are.
pub(super) async fn lock_and_subscribe(
    txn: &Transaction,
    tenant: &Tenant,
    wanted: &SubscriptionPairs,
    now: i64,
) -> Result<SubscriptionCount> {
    let users: Vec<UserId> = wanted.iter().map(|(user, _)| *user).collect::<BTreeSet<_>>().into_iter().collect();
    let locked = sync::lock_users(txn, tenant, &users).await?;
    subscribe_locked(txn, tenant, wanted, locked, now).await
}

async fn subscribe_locked(
    txn: &Transaction,
    tenant: &Tenant,
    wanted: &SubscriptionPairs,
    locked: LockedUsers,
    now: i64,
) -> Result<SubscriptionCount> {
    let LockedUsers { end: since, subscription_counts: counts, .. } = locked;
    let users: Vec<UserId> = wanted.iter().map(|(user, _)| *user).collect::<BTreeSet<_>>().into_iter().collect();
    let present = find_existing(txn, wanted).await?;
    let new: Vec<(UserId, ChannelId)> = wanted.difference(&present).copied().collect();
    let columns = [Column::UserId, Column::ChannelId, Column::SinceSeq, Column::CreatedAt];
    let row = |(user, channel): &(UserId, ChannelId)| [(*user).into(), (*channel).into(), since.into(), now.into()];
    insert(txn, columns, new.iter().map(row).collect(), ExistingRows::Kept).await?;
    let mut more: BTreeMap<UserId, i64> = BTreeMap::new();
    for (user, _) in &new {
        *more.entry(*user).or_default() += 1;
    }
    for many in more.values().copied().collect::<BTreeSet<_>>() {
        let users: Vec<UserId> = more.iter().filter(|(_, of)| **of == many).map(|(user, _)| *user).collect();
        adjust_counts(txn, &users, many).await?;
    }
    txn.notify(Notice::subscription_changes(tenant.id, &users));
    let listens = |(user, many)| counts.get(user).copied().unwrap_or_default() + many;
    Ok(SubscriptionCount { created_count: new.len() as u64, most: more.iter().map(listens).max().unwrap_or_default() })
}

/// Those of the subscriptions that exist.
pub(super) async fn find_existing(db: &impl ConnectionTrait, wanted: &SubscriptionPairs) -> Result<SubscriptionPairs> {
    let wanted: Vec<(UserId, ChannelId)> = wanted.iter().copied().collect();
    let is_of_one = |of: fn(&(UserId, ChannelId)) -> i64| wanted.iter().map(of).collect::<BTreeSet<_>>().len() == 1;
    let many = if is_of_one(|(user, _)| user.0) || is_of_one(|(_, channel)| channel.0) { LIST } else { PAIRS };
    let mut present = SubscriptionPairs::new();
    for wanted in wanted.chunks(many) {
        let users: BTreeSet<UserId> = wanted.iter().map(|(user, _)| *user).collect();
        let channels: BTreeSet<ChannelId> = wanted.iter().map(|(_, channel)| *channel).collect();
        let known = Subscription::find().filter(Column::UserId.is_in_list(db, &Vec::from_iter(users)));
        let known = known.filter(Column::ChannelId.is_in_list(db, &Vec::from_iter(channels))).select_only();
        present.extend(
            known.columns([Column::UserId, Column::ChannelId]).into_tuple::<(UserId, ChannelId)>().all(db).await?,
        );
    }
    Ok(present)
}

/// Before a transaction that ends subscriptions, syncs the inboxes that it has to sync, to near the end of the log. So
/// little is left to do in the transaction.
pub(super) async fn sync_before_unsubscribing(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
) -> Result<()> {
    let unheard = find_unsynced(&store.db.read, users, channels).await?;
    if !unheard.is_empty() {
        sync::sync_if_far(store, tenant, &unheard).await?;
    }
    Ok(())
}

/// Ends subscriptions of these users to these channels. Returns how many there were.
pub(super) async fn end_subscriptions(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    channels: &[ChannelId],
    now: i64,
) -> Result<u64> {
    sync::lock_users(txn, tenant, users).await?;
    let unheard = find_unsynced(txn, users, channels).await?;
    if !unheard.is_empty() {
        sync::sync_in_transaction(txn, tenant, &unheard, now).await?;
    }
    counters::record_departures(txn, tenant, users, channels).await?;
    let mut removed_count = 0;
    for &channel in channels {
        let present = Vec::from_iter(find_listeners(txn, channel, users).await?);
        removed_count += delete_subscriptions(txn, channel, &present).await?;
        adjust_counts(txn, &present, -1).await?;
    }
    txn.notify(Notice::subscription_changes(tenant.id, users));
    Ok(removed_count)
}

/// Removes listeners from a closed channel: users who have synced its newest publication, who subscribed after it, or
/// who no longer exist.
pub(super) async fn remove_from_closed(
    txn: &Transaction,
    channel: ChannelId,
    users: &[UserId],
    newest: Seq,
) -> Result<()> {
    let cursors = User::find().filter(user::Column::Id.is_in_list(txn, users)).order_by_asc(user::Column::Id);
    let cursors = cursors.for_update(txn).select_only().column(user::Column::Id).column(user::Column::CursorSeq);
    let (mut beyond, mut behind) = (Vec::new(), Vec::new());
    for (user, cursor) in cursors.into_tuple::<(UserId, Seq)>().all(txn).await? {
        if cursor >= newest { &mut beyond } else { &mut behind }.push(user);
    }
    let late =
        Subscription::find().filter(Column::ChannelId.eq(channel)).filter(Column::UserId.is_in_list(txn, &behind));
    let late = late.filter(Column::SinceSeq.gte(newest)).select_only().column(Column::UserId);
    let late = late.into_tuple::<UserId>().all(txn).await?;
    behind.retain(|user| !late.contains(user));
    beyond.extend(late);
    let off: Vec<UserId> = users.iter().filter(|user| !behind.contains(user)).copied().collect();
    delete_subscriptions(txn, channel, &off).await?;
    adjust_counts(txn, &beyond, -1).await
}

/// Those of the users who listen to the channel. The caller has locked their rows.
async fn find_listeners(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<HashSet<UserId>> {
    let listeners =
        Subscription::find().filter(Column::ChannelId.eq(channel)).filter(Column::UserId.is_in_list(txn, users));
    let listeners = listeners.select_only().column(Column::UserId).into_tuple().all(txn).await?;
    Ok(listeners.into_iter().collect())
}

async fn delete_subscriptions(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<u64> {
    let remove = Subscription::delete_many().filter(Column::ChannelId.eq(channel));
    Ok(remove.filter(Column::UserId.is_in_list(txn, users)).exec(txn).await?.rows_affected)
}

async fn adjust_counts(txn: &Transaction, users: &[UserId], more: i64) -> Result<()> {
    if !users.is_empty() {
        let count = Expr::col(user::Column::SubscriptionCount).add(more);
        let count = User::update_many().col_expr(user::Column::SubscriptionCount, count);
        count.filter(user::Column::Id.is_in_list(txn, users)).exec(txn).await?;
    }
    Ok(())
}

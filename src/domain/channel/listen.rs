//! Beginning and ceasing to listen, for one user or many.
//!
//! Both lock the users' rows, so that a sync comes before or after the whole of it. Who begins hears what is published after
//! the end of the log as it is then, wherever their cursor stands: an inbox that nobody has opened stays unmade. Who ceases
//! is synced first, in the same transaction, where something was published to the channel that they have not got. Sessions of the
//! users are told when it is committed. What a group subscribes to is published to its own channel: its members listen to that
//! already.

use std::collections::HashSet;

use entity::ids::{ChannelId, Seq, UserId};
use entity::prelude::*;
use entity::subscription::{Column, Entity as Subscription};
use entity::user::{self, Entity as User};
use sea_orm::sea_query::ExprTrait;

use super::statement::unheard;
use crate::app::App;
use crate::database::Transaction;
use crate::domain::inbox::sync;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;

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
        let many = User::of_user(user).select_only().column(user::Column::SubscriptionCount);
        let many = many.into_tuple::<i64>().one(txn).await?.unwrap_or_default();
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
    let columns = [Column::UserId, Column::ChannelId, Column::SinceSeq, Column::CreatedAt];
    let mut created_count = 0;
    for &channel in channels {
        let present = listeners(txn, channel, users).await?;
        let new: Vec<UserId> = users.iter().filter(|user| !present.contains(user)).copied().collect();
        let row = |user: &UserId| [(*user).into(), channel.into(), since.into(), now.into()];
        insert(txn, columns, new.iter().map(row).collect(), Existing::Kept).await?;
        count(txn, &new, 1).await?;
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
        let present = Vec::from_iter(listeners(txn, channel, users).await?);
        removed_count += remove(txn, channel, &present).await?;
        count(txn, &present, -1).await?;
    }
    txn.tell(Notice::listeners(tenant.id, users));
    Ok(removed_count)
}

/// Takes those of the users off a closed channel who are beyond the newest that was published to it, or began to listen
/// after that, or are no users any more.
pub(super) async fn take_off(txn: &Transaction, channel: ChannelId, users: &[UserId], newest: Seq) -> Result<()> {
    let cursors = User::find().filter(user::Column::Id.among(txn, users)).order_by_asc(user::Column::Id);
    let cursors = cursors.for_update(txn).select_only().column(user::Column::Id).column(user::Column::CursorSeq);
    let (mut beyond, mut behind) = (Vec::new(), Vec::new());
    for (user, cursor) in cursors.into_tuple::<(UserId, Seq)>().all(txn).await? {
        if cursor >= newest { &mut beyond } else { &mut behind }.push(user);
    }
    let late = Subscription::find().filter(Column::ChannelId.eq(channel)).filter(Column::UserId.among(txn, &behind));
    let late = late.filter(Column::SinceSeq.gte(newest)).select_only().column(Column::UserId);
    let late = late.into_tuple::<UserId>().all(txn).await?;
    behind.retain(|user| !late.contains(user));
    beyond.extend(late);
    let off: Vec<UserId> = users.iter().filter(|user| !behind.contains(user)).copied().collect();
    remove(txn, channel, &off).await?;
    count(txn, &beyond, -1).await
}

/// Those of the users (whose rows are locked) who listen to the channel.
async fn listeners(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<HashSet<UserId>> {
    let listeners = Subscription::find().filter(Column::ChannelId.eq(channel)).filter(Column::UserId.among(txn, users));
    let listeners = listeners.select_only().column(Column::UserId).into_tuple().all(txn).await?;
    Ok(listeners.into_iter().collect())
}

async fn remove(txn: &Transaction, channel: ChannelId, users: &[UserId]) -> Result<u64> {
    let remove = Subscription::delete_many().filter(Column::ChannelId.eq(channel));
    Ok(remove.filter(Column::UserId.among(txn, users)).exec(txn).await?.rows_affected)
}

async fn count(txn: &Transaction, users: &[UserId], more: i64) -> Result<()> {
    if !users.is_empty() {
        let count = Expr::col(user::Column::SubscriptionCount).add(more);
        let count = User::update_many().col_expr(user::Column::SubscriptionCount, count);
        count.filter(user::Column::Id.among(txn, users)).exec(txn).await?;
    }
    Ok(())
}

//! Follows: a user is notified of everything that another user does.

use std::sync::Arc;

use entity::channel;
use entity::ids::{ChannelId, UserId};
use entity::prelude::*;

use super::permit::{PermitIssuer, PermitSubject};
use super::{ChannelCode, ChannelKind, open_channels, subscriptions};
use crate::tenant::Tenant;
use crate::user::{self, PerformedBy};
use base::error::{Error, Result};
use model::list_page::PageRange;
use store::{Store, transaction};

/// From now on, notifies `follower` of all that the user with the external id `actor` does. Idempotent. Returns the
/// actor.
///
/// `FORBIDDEN` if a user asks for it and the tenant does not allow users to follow by themselves.
pub async fn follow(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    by: PerformedBy<'_>,
    follower: UserId,
    actor: &str,
) -> Result<UserId> {
    let mut permits = PermitIssuer::new(by, PermitSubject::Follows);
    loop {
        let permit = permits.issue_next(store, tenant).await?;
        let actor = user::find_or_create_one(store, tenant, "user", actor).await?;
        if follower == actor {
            return Err(Error::bad_input("user", "must be another user: users cannot follow themselves"));
        }
        let now = store.now();
        let begun = transaction!(store.db, |txn| {
            user::lock_users(txn, tenant, &[actor]).await?;
            let channels = open_channels(txn, tenant, &[ChannelCode::Actor(actor.0)], now).await?;
            subscriptions::subscribe_user(txn, tenant, permit, follower, &channels, now).await
        })?;
        if begun.is_some() {
            return Ok(actor);
        }
    }
}

/// Ends a follow.
pub async fn unfollow(store: &Store, tenant: &Tenant, follower: UserId, actor: UserId) -> Result<()> {
    let code = ChannelCode::Actor(actor.0);
    let Some(audience) = super::find_audiences(&store.db.read, tenant, &[code]).await?.into_values().next() else {
        return Ok(());
    };
    subscriptions::sync_before_unsubscribing(store, tenant, &[follower], &[audience.channel]).await?;
    let now = store.now();
    transaction!(store.db, |txn| subscriptions::end_subscriptions(txn, tenant, &[follower], &[audience.channel], now)
        .await
        .map(drop))
}

/// A page of the users that a user follows, with the channels, oldest channel first, and whether more follow.
pub async fn list_following(
    store: &Store,
    user: UserId,
    slice: PageRange<ChannelId>,
) -> Result<(Vec<(ChannelId, UserId)>, bool)> {
    let followed = subscriptions::select_page(user, ChannelKind::Actor, slice)
        .column(channel::Column::Id)
        .column(channel::Column::Code);
    let (rows, goes_on) = slice.make_page(followed.into_tuple::<(ChannelId, String)>().all(&store.db.read).await?);
    let rows = rows.into_iter().map(|(id, code)| Ok((id, UserId(code.parse().map_err(Error::internal)?))));
    Ok((rows.collect::<Result<_>>()?, goes_on))
}

//! Follows: users who hear of all that another one does.

use entity::channel;
use entity::ids::{ChannelId, UserId};
use entity::prelude::*;
use entity::subscription::{self, Entity as Subscription};

use super::{Code, Kind, listen, open};
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::{Error, Result};

/// `follower` hears of what `actor` does from now on. Doing so again changes nothing.
pub async fn follow(app: &App, tenant: &Tenant, follower: UserId, actor: UserId) -> Result<()> {
    if follower == actor {
        return Err(Error::bad_input("user", "users cannot follow themselves"));
    }
    let now = app.now();
    transaction!(app.db, |txn| {
        user::held(txn, tenant, &[actor]).await?;
        let channels = open(txn, tenant, &[Code::Actor(actor.0)], now).await?;
        listen::begin_one(txn, tenant, follower, &channels, now).await?;
        Ok(())
    })
}

/// The reverse.
pub async fn unfollow(app: &App, tenant: &Tenant, follower: UserId, actor: UserId) -> Result<()> {
    let code = Code::Actor(actor.0);
    let Some(audience) = super::audiences(&app.db.read, tenant, &[code]).await?.into_values().next() else {
        return Ok(());
    };
    listen::before_ceasing(app, tenant, &[follower], &[audience.channel]).await?;
    let now = app.now();
    transaction!(app.db, |txn| listen::cease(txn, tenant, &[follower], &[audience.channel], now).await.map(drop))
}

/// A page of the channels of those whom a user follows, after a channel, with their rows; one more
/// than `first`.
pub async fn following(
    app: &App,
    user: UserId,
    first: usize,
    after: Option<ChannelId>,
) -> Result<Vec<(ChannelId, UserId)>> {
    let followed = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
    let followed = followed.filter(subscription::Column::ChannelId.gt(after.unwrap_or_default()));
    let followed = followed.filter(channel::Column::Kind.eq(Kind::Actor));
    let followed = followed.order_by_asc(subscription::Column::ChannelId).limit(first as u64 + 1);
    let followed = followed.select_only().column(channel::Column::Id).column(channel::Column::Code);
    let followed = followed.into_tuple::<(ChannelId, String)>().all(&app.db.read).await?;
    followed.into_iter().map(|(id, code)| Ok((id, UserId(code.parse().map_err(Error::internal)?)))).collect()
}

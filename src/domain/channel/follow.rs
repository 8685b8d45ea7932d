//! Follows: users who hear of all that another one does.

use entity::ids::{ChannelId, UserId};

use super::{Code, Kind, listen, open};
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::{Error, Result};
use crate::sql::Sql;

/// `follower` hears of what `actor` does from now on. Doing so again changes nothing.
pub async fn follow(app: &App, tenant: &Tenant, follower: UserId, actor: UserId) -> Result<()> {
    if follower == actor {
        return Err(Error::bad_input("user", "nobody follows himself"));
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
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT c.id, c.code FROM subscription s JOIN channel c ON c.id = s.channel_id WHERE s.user_id = ")
        .bind(user)
        .push(" AND s.channel_id > ")
        .bind(after.map_or(0, |channel| channel.0))
        .push(&format!(" AND c.kind = {} ORDER BY s.channel_id LIMIT ", Kind::Actor as i16))
        .bind(i64::try_from(first).unwrap_or(i64::MAX - 1) + 1);
    let mut page = Vec::new();
    for row in sql.all(&app.db.read).await? {
        let code: String = row.try_get("", "code")?;
        page.push((row.try_get("", "id")?, UserId(code.parse().map_err(Error::internal)?)));
    }
    Ok(page)
}

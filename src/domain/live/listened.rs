//! Which channels users listen to.

use std::collections::HashMap;

use entity::ids::{ChannelId, UserId};

use crate::app::App;
use crate::error::Result;
use crate::sql::Sql;

/// What users listen to: a range of `subscription`'s key each.
pub(super) async fn listened(app: &App, users: &[UserId]) -> Result<HashMap<UserId, Vec<ChannelId>>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT s.user_id, s.channel_id FROM subscription s WHERE s.user_id").among(users);
    let mut channels: HashMap<UserId, Vec<ChannelId>> = HashMap::with_capacity(users.len());
    for row in sql.all(&app.db.read).await? {
        channels.entry(row.try_get("", "user_id")?).or_default().push(row.try_get("", "channel_id")?);
    }
    Ok(channels)
}

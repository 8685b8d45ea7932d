//! The size of a rule's audience.

use entity::ids::ChannelId;
use entity::prelude::*;

use base::error::Result;
use store::SqlBuilder;

/// How many users listen to at least one of the channels: a range of `subscription_channel_user` for each.
pub(super) async fn count_listeners(db: &impl ConnectionTrait, channels: &[ChannelId]) -> Result<i64> {
    #[derive(FromQueryResult)]
    struct CountRow {
        many: i64,
    }
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT COUNT(DISTINCT user_id) AS many FROM subscription WHERE channel_id").push_list(channels);
    Ok(sql.fetch_optional::<CountRow>(db).await?.map_or(0, |row| row.many))
}

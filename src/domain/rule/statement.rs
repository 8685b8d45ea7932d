//! The size of a rule's audience.

use entity::ids::ChannelId;
use entity::prelude::*;

use crate::database::Sql;
use crate::error::Result;

/// How many users listen to at least one of the channels: a range of `subscription_channel_user` for each.
pub(super) async fn listeners(db: &impl ConnectionTrait, channels: &[ChannelId]) -> Result<i64> {
    #[derive(FromQueryResult)]
    struct Row {
        many: i64,
    }
    let mut sql = Sql::new(db);
    sql.push("SELECT COUNT(DISTINCT user_id) AS many FROM subscription WHERE channel_id").among(channels);
    Ok(sql.row::<Row>(db).await?.map_or(0, |row| row.many))
}

//! Reads the channels that users subscribe to.

use std::collections::HashMap;

use entity::ids::{ChannelId, UserId};
use entity::prelude::*;
use entity::subscription::{Column, Entity as Subscription};

use base::error::Result;
use store::Store;

/// The channels of users: a range of `subscription`'s key for each.
pub(super) async fn load_channels(store: &Store, users: &[UserId]) -> Result<HashMap<UserId, Vec<ChannelId>>> {
    let listened = Subscription::find().filter(Column::UserId.is_in_list(&store.db.read, users)).select_only();
    let listened = listened.column(Column::UserId).column(Column::ChannelId).into_tuple::<(UserId, ChannelId)>();
    let mut channels: HashMap<UserId, Vec<ChannelId>> = HashMap::with_capacity(users.len());
    for (user, channel) in listened.all(&store.db.read).await? {
        channels.entry(user).or_default().push(channel);
    }
    Ok(channels)
}

//! The invalidation keys, and which of them a change concerns.

use entity::ids::{ChannelId, TenantId, UserId};

use crate::hub::Notice;

/// A random value under an invalidation key. None is used twice under the same key.
pub type InvalidationToken = u64;

/// An invalidation key: its token is deleted when something changes that an inbox shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InvalidationKey {
    /// The user's inbox changed or received an item, the user's subscriptions changed, or the user was erased.
    User(UserId),
    /// The tenant's catalogue, a notification or a sender's profile changed, or a user was erased.
    Tenant(TenantId),
    /// A notification was published to a channel of this share.
    Channels(TenantId, u8),
}

impl InvalidationKey {
    /// The key for a channel.
    pub fn for_channel(tenant: TenantId, channel: ChannelId) -> Self {
        Self::Channels(tenant, channel_share(channel))
    }

    /// The Redis key.
    pub fn redis_key(self, prefix: &str) -> String {
        match self {
            Self::User(user) => format!("{prefix}u{user}"),
            Self::Tenant(tenant) => format!("{prefix}t{tenant}"),
            Self::Channels(tenant, share) => format!("{prefix}c{tenant}.{share}"),
        }
    }
}

/// A channel's share, one of 256 of its tenant. Each has one key, which all subscribers of its channels watch.
pub fn channel_share(channel: ChannelId) -> u8 {
    channel.0.to_le_bytes()[0]
}

/// The keys that a commit invalidates.
pub fn invalidated_keys(notice: &Notice) -> impl Iterator<Item = InvalidationKey> {
    let Notice { tenant, channels, users, changed, items, listeners, erased, catalogue, doubtful, everybody, .. } =
        notice;
    let of_tenant = *catalogue || *doubtful || *everybody || !items.is_empty() || !erased.is_empty();
    let users = [users, changed, listeners, erased].into_iter().flatten().map(|user| InvalidationKey::User(*user));
    let channels = channels.iter().map(|channel| InvalidationKey::for_channel(*tenant, *channel));
    of_tenant.then_some(InvalidationKey::Tenant(*tenant)).into_iter().chain(users).chain(channels)
}

#[cfg(test)]
mod tests {
    use entity::ids::Seq;

    use super::*;

    #[test]
    fn what_changes_an_inbox_concerns_a_place() {
        let of = |change: fn(&mut Notice)| {
            let mut notice = Notice::for_tenant(TenantId(7));
            change(&mut notice);
            invalidated_keys(&notice).map(|place| place.redis_key("")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(|notice| notice.users = vec![UserId(1), UserId(2)]), "u1 u2");
        assert_eq!(of(|notice| notice.changed = vec![UserId(1)]), "u1");
        assert_eq!(of(|notice| notice.listeners = vec![UserId(1)]), "u1");
        assert_eq!(of(|notice| notice.erased = vec![UserId(1)]), "t7 u1");
        assert_eq!(of(|notice| notice.channels = vec![ChannelId(3), ChannelId(256)]), "c7.3 c7.0");
        assert_eq!(of(|notice| notice.items = vec![Seq(9)]), "t7");
        assert_eq!(of(|notice| notice.catalogue = true), "t7");
        assert_eq!(of(|notice| notice.doubtful = true), "t7");
        assert_eq!(of(|notice| notice.everybody = true), "t7");
        assert_eq!(of(|notice| notice.seqs = vec![(Seq(1), Seq(2))]), "");
    }
}

//! Validation of a cached overview by Redis tokens, without the database.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use base::clock::Millis;

/// Maximum time between two validations by the database. A node that dies after a commit cannot remove its tokens; this
/// bounds how long such a change goes unseen.
pub const ASKED_EVERY: Duration = Duration::from_mins(2);

/// Shards of a tenant's channels: one bit for each shard with a channel the user listens to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelShards([u64; 4]);

impl ChannelShards {
    /// All shards.
    pub const ALL: Self = Self([u64::MAX; 4]);

    pub fn add(&mut self, share: u8) {
        self.0[usize::from(share / 64)] |= 1 << (share % 64);
    }

    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part] | other.0[part]))
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |share| self.0[usize::from(share / 64)] >> (share % 64) & 1 == 1)
    }
}

/// The invalidation tokens at the last validation by the database.
#[derive(Clone, Copy, Debug)]
pub struct InvalidationWatch {
    /// Shards of the channels the user listens to, valid while the token `listening` exists.
    pub shares: ChannelShards,
    pub listening: u64,
    /// Hash of all tokens it depends on.
    pub hung: u64,
    /// When the database was asked, by this node's clock and by the shared clock.
    pub asked: (Instant, Millis),
    /// When an item of the tenant next expires.
    pub expires_at: Millis,
}

impl InvalidationWatch {
    /// Whether unchanged tokens still suffice now.
    pub fn is_fresh(&self, now: Millis) -> bool {
        let (asked, asked_at) = self.asked;
        asked.elapsed() < ASKED_EVERY && asked_at <= now && now < self.expires_at
    }
}

/// A hash of tokens in their order; `None` if one is missing.
pub fn hash_tokens(tokens: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for token in tokens {
        token?.hash(&mut hasher);
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_a_set() {
        let mut shares = ChannelShards::default();
        for share in [0, 63, 64, 255, 64] {
            shares.add(share);
        }
        assert_eq!(shares.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(ChannelShards::ALL.iter().count(), 256);
        assert_eq!(shares.union(ChannelShards::ALL), ChannelShards::ALL);
    }

    #[test]
    fn another_token_and_a_missing_one_are_seen() {
        assert_eq!(hash_tokens([Some(1), Some(2)]), hash_tokens([Some(1), Some(2)]));
        assert_ne!(hash_tokens([Some(1), Some(2)]), hash_tokens([Some(2), Some(1)]));
        assert_eq!(hash_tokens([Some(1), None]), None);
    }
}

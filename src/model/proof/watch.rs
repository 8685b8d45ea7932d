//! By what it is known of a remembered overview, without asking the database, that nothing has changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use crate::clock::Millis;

/// After this the database is asked, whatever the board says: of what was committed by a node that died before it could take anything
/// down, so that nobody was told of it.
pub const ASKED_EVERY: Duration = Duration::from_mins(2);

/// Shares of a tenant's channels: a bit for each that somebody listens to a channel of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares([u64; 4]);

impl Shares {
    /// Each of them.
    pub const ALL: Self = Self([u64::MAX; 4]);

    pub fn add(&mut self, share: u8) {
        self.0[usize::from(share / 64)] |= 1 << (share % 64);
    }

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part] | other.0[part]))
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |share| self.0[usize::from(share / 64)] >> (share % 64) & 1 == 1)
    }
}

/// What hung on the board when the database said last that an overview holds.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Of the channels that the user listens to, for as long as this token of theirs hangs.
    pub shares: Shares,
    pub listening: u64,
    /// Of all that it depends on.
    pub hung: u64,
    /// When the database was asked: by this node's clock, and by that of all nodes.
    pub asked: (Instant, Millis),
    /// When something of the tenant expires next.
    pub expires_at: Millis,
}

impl Watch {
    /// Whether that can still be all, where what hung then hangs now.
    pub fn is_good(&self, now: Millis) -> bool {
        let (asked, asked_at) = self.asked;
        asked.elapsed() < ASKED_EVERY && asked_at <= now && now < self.expires_at
    }
}

/// Of tokens, in their order: the same for the same ones alone. Nothing where one is missing.
pub fn hung(tokens: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
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
        let mut shares = Shares::default();
        for share in [0, 63, 64, 255, 64] {
            shares.add(share);
        }
        assert_eq!(shares.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(Shares::ALL.iter().count(), 256);
        assert_eq!(shares.with(Shares::ALL), Shares::ALL);
    }

    #[test]
    fn another_token_and_a_missing_one_are_seen() {
        assert_eq!(hung([Some(1), Some(2)]), hung([Some(1), Some(2)]));
        assert_ne!(hung([Some(1), Some(2)]), hung([Some(2), Some(1)]));
        assert_eq!(hung([Some(1), None]), None);
    }
}

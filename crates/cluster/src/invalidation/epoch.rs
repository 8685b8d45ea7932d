//! The epoch of the invalidation tokens in Redis, as this node knows it, and the rules that follow from it.
//!
//! The database stores the epoch: a name, which is part of all keys, and the run of Redis that it belongs to. A node
//! reads it repeatedly, and measures time with its own monotonic clock:
//!
//! - It trusts the tokens for [`trust`](EpochTimings::trust) after it began to read the epoch, and only once it has
//!   known that epoch for [`quiet_period`](EpochTimings::quiet_period). So soon after an epoch is replaced no node
//!   trusts the old one, and nodes begin to trust the new one much later. In between no node trusts any token, and
//!   commits need not invalidate.
//! - A node that cannot invalidate a token starts a new epoch, and waits for that moment.
//!
//! The crate `cluster-model` checks this in every order of events.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::error::{Error, Result};

/// Stands for "no run of Redis" in the database.
const NOWHERE: &str = "-";

/// The durations of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct EpochTimings {
    /// How long a reading of the epoch is valid.
    pub trust: Duration,
}

impl EpochTimings {
    /// How long a node must have known an epoch before it uses it.
    pub fn quiet_period(self) -> Duration {
        self.trust * 4
    }

    /// How often a node reads the epoch.
    pub fn read_interval(self) -> Duration {
        self.trust / 2
    }
}

/// A period during which all nodes use the same Redis, and no invalidation fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub name: Arc<str>,
    /// The run of Redis it belongs to. `None` while a node cannot use Redis.
    pub run: Option<Arc<str>>,
}

impl Epoch {
    /// A new epoch with a random name.
    pub fn generate(run: Option<Arc<str>>) -> Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(Error::internal)?;
        Ok(Self { name: format!("{:016x}", u64::from_ne_bytes(name)).into(), run })
    }

    /// Parses the value in the database.
    pub fn parse(text: &str) -> Self {
        let (name, run) = text.split_once(' ').unwrap_or((text, NOWHERE));
        Self { name: name.into(), run: (run != NOWHERE).then(|| run.into()) }
    }
}

impl Display for Epoch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.run.as_deref().unwrap_or(NOWHERE))
    }
}

/// This node's knowledge of the epoch.
#[derive(Clone, Debug)]
pub struct EpochState {
    pace: EpochTimings,
    pub epoch: Epoch,
    /// When this node first knew the epoch.
    since: Instant,
    /// When its last reading began.
    read_at: Instant,
    /// After the first instant no node trusts an earlier epoch. Before the second none trusts this or a later one.
    closed: (Instant, Instant),
}

impl EpochState {
    /// An epoch that this node has written between two instants.
    pub fn for_started_epoch(pace: EpochTimings, epoch: Epoch, (began, ended): (Instant, Instant)) -> Self {
        let closed = (ended + pace.trust, began + pace.quiet_period());
        Self { pace, epoch, since: ended, read_at: began, closed }
    }

    /// Notes that the database held, or was given, an epoch between two instants.
    pub fn observe_epoch(&mut self, epoch: Epoch, (began, ended): (Instant, Instant)) {
        if self.epoch != epoch {
            // It was written after the last reading began, and so will be any later one.
            let next = (ended + self.pace.trust, self.read_at + self.pace.quiet_period());
            // If the tokens are already untrusted up to then, they stay so.
            let from = if next.0 <= self.closed.1 { self.closed.0 } else { next.0 };
            (self.epoch, self.since, self.closed) = (epoch, ended, (from, next.1));
        }
        self.read_at = began;
        if self.epoch.run.is_none() {
            // No node trusts an epoch without a Redis, and the next epoch did not exist yet.
            self.closed.1 = began + self.pace.quiet_period();
        }
    }

    /// Whether this node trusts the tokens.
    pub fn is_trusted(&self, now: Instant) -> bool {
        self.epoch.run.is_some() && now < self.read_at + self.pace.trust && now >= self.since + self.pace.quiet_period()
    }

    /// Whether no node trusts the tokens, so that commits need not invalidate.
    pub fn is_closed(&self, now: Instant) -> bool {
        now >= self.closed.0 && now < self.closed.1
    }

    /// The instant after which no node trusts an earlier epoch.
    pub fn closed_from(&self) -> Instant {
        self.closed.0
    }

    /// Whether every epoch that a node may trust is known to this node.
    pub fn is_recent(&self, now: Instant) -> bool {
        now < self.read_at + self.pace.quiet_period()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: EpochTimings = EpochTimings { trust: Duration::from_secs(2) };

    fn epoch(name: &str) -> Epoch {
        Epoch { name: name.into(), run: Some("run".into()) }
    }

    #[test]
    fn an_epoch_is_believed_late_and_for_a_short_time() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut known = EpochState::for_started_epoch(PACE, epoch("a"), (at(0), at(100)));
        assert!(!known.is_closed(at(2099)) && known.is_closed(at(2100)) && known.is_closed(at(7999)));
        assert!(!known.is_closed(at(8000)), "another node may believe it from then on");
        for second in 1..10 {
            known.observe_epoch(epoch("a"), (at(second * 1000), at(second * 1000 + 10)));
            assert_eq!(known.is_trusted(at(second * 1000 + 99)), second > 8, "{second}");
        }
        assert!(known.is_trusted(at(10_999)) && !known.is_trusted(at(11_000)));
        assert!(known.is_recent(at(16_999)) && !known.is_recent(at(17_000)));

        // Others may trust the previous epoch for two seconds more.
        known.observe_epoch(epoch("b"), (at(12_000), at(12_010)));
        assert!(!known.is_trusted(at(12_020)) && !known.is_closed(at(14_009)) && known.is_closed(at(14_010)));
        assert!(known.is_closed(at(16_999)) && !known.is_closed(at(17_000)), "it may have been raised at nine seconds");
    }

    #[test]
    fn who_raises_it_again_and_again_keeps_it_closed() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut known = EpochState::for_started_epoch(PACE, epoch("0"), (at(0), at(10)));
        for second in 1..60_u64 {
            known.observe_epoch(epoch(&second.to_string()), (at(second * 1000), at(second * 1000 + 10)));
            assert_eq!(known.is_closed(at(second * 1000 + 20)), second >= 2);
        }
        let nowhere = Epoch { name: "x".into(), run: None };
        for second in 60..90_u64 {
            known.observe_epoch(nowhere.clone(), (at(second * 1000), at(second * 1000 + 10)));
            assert!(known.is_closed(at(second * 1000 + 20)) && !known.is_trusted(at(second * 1000 + 20)));
        }
    }

    #[test]
    fn epochs_are_read_as_they_are_written() {
        for run in [None, Some("0123".into())] {
            let epoch = Epoch::generate(run).unwrap();
            assert_eq!(Epoch::parse(&epoch.to_string()), epoch);
        }
        assert_eq!(Epoch::parse("whatever").run, None);
    }
}

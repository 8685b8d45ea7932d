//! Which epoch the board is in, as this node knows it, and what follows from that.
//!
//! The database has the epoch: a name, by which all keys of the board begin, and the run of Redis that it is of. A node reads it
//! again and again, and goes by its own monotonic clock:
//!
//! - It believes the board for [`trust`](Pace::trust) after it has begun to read the epoch, and not before an epoch has been known to
//!   it for [`quiet`](Pace::quiet). So a moment after an epoch was raised nobody believes the one before, and the next one is
//!   believed much later than that: in between nobody believes anything, and whoever commits need not take anything down.
//! - Who cannot take something down raises the epoch, and waits for that moment.
//!
//! `board-model` checks all of it in every order of events.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// What no run of Redis is called.
const NOWHERE: &str = "-";

/// How long things last.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// A reading of the epoch is relied on for this long.
    pub trust: Duration,
}

impl Pace {
    /// An epoch is not used until it has been known for this long.
    pub fn quiet(self) -> Duration {
        self.trust * 4
    }

    /// How often the epoch is read.
    pub fn look(self) -> Duration {
        self.trust / 2
    }
}

/// A time in which all nodes go by the same Redis, and nothing that has to be taken down was left hanging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub name: Arc<str>,
    /// Of which run of a Redis it is; of none while somebody cannot reach it.
    pub run: Option<Arc<str>>,
}

impl Epoch {
    /// A new one, that never was.
    pub fn fresh(run: Option<Arc<str>>) -> Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(Error::internal)?;
        Ok(Self { name: format!("{:016x}", u64::from_ne_bytes(name)).into(), run })
    }

    /// As the database has it.
    pub fn read(text: &str) -> Self {
        let (name, run) = text.split_once(' ').unwrap_or((text, NOWHERE));
        Self { name: name.into(), run: (run != NOWHERE).then(|| run.into()) }
    }
}

impl Display for Epoch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.run.as_deref().unwrap_or(NOWHERE))
    }
}

/// What a node knows of the epoch.
#[derive(Clone, Debug)]
pub struct Known {
    pace: Pace,
    pub epoch: Epoch,
    /// When it was known first.
    since: Instant,
    /// When its last reading began.
    read_at: Instant,
    /// From when on nobody believes an earlier epoch, and until when nobody believes this one or one that comes.
    closed: (Instant, Instant),
}

impl Known {
    /// An epoch that this node has raised itself, between two instants.
    pub fn raised(pace: Pace, epoch: Epoch, (began, ended): (Instant, Instant)) -> Self {
        let closed = (ended + pace.trust, began + pace.quiet());
        Self { pace, epoch, since: ended, read_at: began, closed }
    }

    /// Notes that the database had, or was given, an epoch between two instants.
    pub fn note(&mut self, epoch: Epoch, (began, ended): (Instant, Instant)) {
        if self.epoch != epoch {
            // It was raised after the last reading began, as is whatever may come yet.
            let next = (ended + self.pace.trust, self.read_at + self.pace.quiet());
            // Where the board is closed up to then, it stays closed.
            let from = if next.0 <= self.closed.1 { self.closed.0 } else { next.0 };
            (self.epoch, self.since, self.closed) = (epoch, ended, (from, next.1));
        }
        self.read_at = began;
        if self.epoch.run.is_none() {
            // Nobody believes an epoch of no Redis, and the next one was not there yet.
            self.closed.1 = began + self.pace.quiet();
        }
    }

    /// Whether what hangs on the board is believed.
    pub fn is_trusted(&self, now: Instant) -> bool {
        self.epoch.run.is_some() && now < self.read_at + self.pace.trust && now >= self.since + self.pace.quiet()
    }

    /// Whether nobody believes the board, so that nothing need be taken down.
    pub fn is_closed(&self, now: Instant) -> bool {
        now >= self.closed.0 && now < self.closed.1
    }

    /// From when on nobody believes an earlier epoch.
    pub fn closed_from(&self) -> Instant {
        self.closed.0
    }

    /// Whether no epoch is believed that this node has not heard of.
    pub fn is_fresh(&self, now: Instant) -> bool {
        now < self.read_at + self.pace.quiet()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { trust: Duration::from_secs(2) };

    fn epoch(name: &str) -> Epoch {
        Epoch { name: name.into(), run: Some("run".into()) }
    }

    #[test]
    fn an_epoch_is_believed_late_and_for_a_short_time() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut known = Known::raised(PACE, epoch("a"), (at(0), at(100)));
        assert!(!known.is_closed(at(2099)) && known.is_closed(at(2100)) && known.is_closed(at(7999)));
        assert!(!known.is_closed(at(8000)), "another node may believe it from then on");
        for second in 1..10 {
            known.note(epoch("a"), (at(second * 1000), at(second * 1000 + 10)));
            assert_eq!(known.is_trusted(at(second * 1000 + 99)), second > 8, "{second}");
        }
        assert!(known.is_trusted(at(10_999)) && !known.is_trusted(at(11_000)));
        assert!(known.is_fresh(at(16_999)) && !known.is_fresh(at(17_000)));

        // Others may believe the one before for two seconds more.
        known.note(epoch("b"), (at(12_000), at(12_010)));
        assert!(!known.is_trusted(at(12_020)) && !known.is_closed(at(14_009)) && known.is_closed(at(14_010)));
        assert!(known.is_closed(at(16_999)) && !known.is_closed(at(17_000)), "it may have been raised at nine seconds");
    }

    #[test]
    fn who_raises_it_again_and_again_keeps_it_closed() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut known = Known::raised(PACE, epoch("0"), (at(0), at(10)));
        for second in 1..60_u64 {
            known.note(epoch(&second.to_string()), (at(second * 1000), at(second * 1000 + 10)));
            assert_eq!(known.is_closed(at(second * 1000 + 20)), second >= 2);
        }
        let nowhere = Epoch { name: "x".into(), run: None };
        for second in 60..90_u64 {
            known.note(nowhere.clone(), (at(second * 1000), at(second * 1000 + 10)));
            assert!(known.is_closed(at(second * 1000 + 20)) && !known.is_trusted(at(second * 1000 + 20)));
        }
    }

    #[test]
    fn epochs_are_read_as_they_are_written() {
        for run in [None, Some("0123".into())] {
            let epoch = Epoch::fresh(run).unwrap();
            assert_eq!(Epoch::read(&epoch.to_string()), epoch);
        }
        assert_eq!(Epoch::read("whatever").run, None);
    }
}

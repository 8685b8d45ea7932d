//! Clocks: a node's own, which tests can set, and the one that all nodes share.

mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// Milliseconds since 1970, as in the tables.
pub type Millis = i64;

pub use shared::SharedClock;

/// The clock of one node.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// The machine's clock, off by this many milliseconds. For tests.
    Skewed(Arc<AtomicI64>),
    /// Stands still until it is advanced. For tests.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `now` until it is advanced.
    pub fn fixed_at(now: DateTime<Utc>) -> Self {
        Self::Set(Arc::new(AtomicI64::new(now.timestamp_millis())))
    }

    /// The machine's clock, off by `by`.
    pub fn skewed_by(by: TimeDelta) -> Self {
        Self::Skewed(Arc::new(AtomicI64::new(by.num_milliseconds())))
    }

    /// Whether it stands still, and so cannot be compared with another clock.
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// The time in milliseconds since 1970.
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub fn now(&self) -> Millis {
        match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Skewed(by) => Utc::now().timestamp_millis().saturating_add(by.load(Ordering::SeqCst)),
            Self::Set(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Moves a test's clock. Does nothing to the machine's.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Set(millis) | Self::Skewed(millis) = self {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

/// Parses an RFC 3339 timestamp. The error says what the text must be.
pub fn parse_instant(text: &str) -> Result<Millis, &'static str> {
    let instant = DateTime::parse_from_rfc3339(text);
    let instant = instant.map_err(|_| "must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)")?;
    Ok(instant.timestamp_millis())
}

/// As a calendar date. Times outside of chrono's 262,000 years do not occur.
pub fn to_date_time(at: Millis) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

//! The time, which tests set, and which all nodes have in common.

mod agreed;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// Milliseconds since 1970, as the tables keep them.
pub type Millis = i64;

pub use agreed::Agreed;

/// The clock of one node.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    System,
    /// That of a machine whose clock is wrong by so many milliseconds, for tests.
    Skewed(Arc<AtomicI64>),
    /// Stands still until somebody moves it.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `now` until it is advanced.
    pub fn set(now: DateTime<Utc>) -> Self {
        Self::Set(Arc::new(AtomicI64::new(now.timestamp_millis())))
    }

    /// The machine's clock, wrong by so much.
    pub fn skewed(by: TimeDelta) -> Self {
        Self::Skewed(Arc::new(AtomicI64::new(by.num_milliseconds())))
    }

    /// Whether it stands still by itself, so that it cannot be compared with any other.
    pub fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// The instant in milliseconds.
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub fn now(&self) -> Millis {
        match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Skewed(by) => Utc::now().timestamp_millis().saturating_add(by.load(Ordering::SeqCst)),
            Self::Set(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Moves a clock of a test; the machine's cannot be moved.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Set(millis) | Self::Skewed(millis) = self {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

/// The instant of a text as RFC 3339 has it; else what it must be.
pub fn instant(text: &str) -> Result<Millis, &'static str> {
    let instant = DateTime::parse_from_rfc3339(text);
    let instant = instant.map_err(|_| "must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)")?;
    Ok(instant.timestamp_millis())
}

/// As the calendar has it. Instants outside of chrono's 262,000 years do not come from us.
pub fn calendar(at: Millis) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

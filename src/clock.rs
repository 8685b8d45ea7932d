//! The time, which tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// Milliseconds since 1970, as the tables keep them.
pub type Millis = i64;

/// Where everything in Tidings reads the time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    System,
    /// Stands still until somebody moves it.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `now` until it is advanced.
    pub fn set(now: DateTime<Utc>) -> Self {
        Self::Set(Arc::new(AtomicI64::new(now.timestamp_millis())))
    }

    /// The instant in milliseconds.
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub fn now(&self) -> Millis {
        match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Set(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Moves a set clock; the machine's cannot be moved.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Set(now) = self {
            now.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

/// As the calendar has it. Instants outside of chrono's 262,000 years do not come from us.
pub fn calendar(at: Millis) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

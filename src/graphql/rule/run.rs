//! Results of rule runs.

use async_graphql::{Enum, Object};

use crate::graphql::scalars::{DateTimeScalar, to_int};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rules::RunOutcome")]
pub enum RuleOutcome {
    /// With a complete result, which was compared with the known rows.
    Complete,
    /// With an error, which `error` names. Nothing changed.
    Failed,
    /// The source exceeded the time-out. Nothing changed.
    TimedOut,
    /// The result had too many rows. Nothing changed.
    Truncated,
    /// There were more new rows than `maxNew`. Nothing changed, and the rule paused.
    Flooded,
    /// Single rows or a chunk were reported. Nothing was resolved.
    Partial,
}

/// The result of a run.
pub struct RuleRun(pub rules::Run);

/// The result of a run.
#[Object]
impl RuleRun {
    /// Start of the run.
    async fn started_at(&self) -> DateTimeScalar {
        self.0.started_at.into()
    }

    /// Duration in seconds, including the source's part.
    #[expect(clippy::cast_precision_loss, reason = "seconds for people need no such precision")]
    async fn seconds(&self) -> f64 {
        self.0.millis as f64 / 1000.0
    }

    /// Rows of the result.
    async fn rows(&self) -> i32 {
        to_int(self.0.rows_found)
    }

    /// Notifications that it raised, new and repeated.
    async fn raised(&self) -> i32 {
        to_int(self.0.raised)
    }

    /// Notifications that it amended because their rows changed.
    async fn amended(&self) -> i32 {
        to_int(self.0.amended)
    }

    /// Notifications of rows that are gone.
    async fn resolved(&self) -> i32 {
        to_int(self.0.resolved)
    }

    /// How it ended.
    async fn outcome(&self) -> RuleOutcome {
        self.0.outcome.into()
    }

    /// Why it was not complete.
    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }
}

//! What came of runs.

use async_graphql::{Enum, Object};

use crate::domain::rule;
use crate::graphql::scalars::{Instant, int};

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rule::Outcome")]
pub enum RuleOutcome {
    /// With a complete result, which was compared with what was known.
    Complete,
    /// Without one: `error` says why. Nothing was changed.
    Failed,
    /// The source took longer than it may. Nothing was changed.
    TimedOut,
    /// The result had more rows than it may. Nothing was changed.
    Truncated,
    /// More was new than `maxNew`: nothing was changed, and the rule is paused.
    Flooded,
    /// Some rows were reported, or a chunk: nothing was resolved.
    Partial,
}

/// What came of a run of a rule.
pub struct RuleRun(pub rule::Run);

/// What came of a run of a rule.
#[Object]
impl RuleRun {
    /// When it began.
    async fn started_at(&self) -> Instant {
        self.0.started_at.into()
    }

    /// How long it took, with what the source took.
    #[expect(clippy::cast_precision_loss, reason = "nobody looks at it that closely")]
    async fn seconds(&self) -> f64 {
        self.0.millis as f64 / 1000.0
    }

    /// Rows of the result.
    async fn rows(&self) -> i32 {
        int(self.0.rows_found)
    }

    /// Notifications that were raised, new and repeated.
    async fn raised(&self) -> i32 {
        int(self.0.raised)
    }

    /// Notifications that were amended, as their rows had changed.
    async fn amended(&self) -> i32 {
        int(self.0.amended)
    }

    /// Notifications whose rows had gone.
    async fn resolved(&self) -> i32 {
        int(self.0.resolved)
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

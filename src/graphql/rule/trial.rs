//! The effect that a rule would have.

use async_graphql::SimpleObject;
use serde_json::Value;

use crate::graphql::json::JsonScalar;
use crate::graphql::scalars::to_int;

/// The effect that a rule would have now.
#[derive(SimpleObject)]
pub struct TryRulePayload {
    /// Rows of the result.
    pub rows: i32,
    /// Notifications that it would raise.
    pub raised: i32,
    /// Notifications that it would amend.
    pub amended: i32,
    /// Notifications that it would resolve.
    pub resolved: i32,
    /// Whether it would be the first complete result, which raises nothing.
    pub baseline: bool,
    /// Whether there are more new rows than `maxNew`: it would raise nothing, and pause.
    pub flooded: bool,
    /// Duration of the source's part in seconds.
    pub seconds: f64,
    /// The source's query plan in its own words; null if it gives none.
    pub plan: Option<String>,
    /// Why there is no result, or which row cannot be raised.
    pub error: Option<String>,
    /// Notifications for the first new rows.
    pub samples: Vec<RuleSample>,
}

/// The notification for a row.
#[derive(SimpleObject)]
pub struct RuleSample {
    /// Its key: column → value.
    pub key: JsonScalar,
    /// By the type's template; null if it has none.
    pub title: Option<String>,
    /// By the type's template.
    pub body: Option<String>,
    /// By the type's template.
    pub link: Option<String>,
    /// The error of the type's template for this row.
    pub template_error: Option<String>,
    /// Users it would address. Preferences do not count.
    pub audience_size: i32,
}

impl From<rules::TrialResult> for TryRulePayload {
    #[expect(clippy::cast_precision_loss, reason = "seconds for people need no such precision")]
    fn from(of: rules::TrialResult) -> Self {
        Self {
            rows: to_int(of.found),
            raised: to_int(of.raised),
            amended: to_int(of.amended),
            resolved: to_int(of.resolved),
            baseline: of.is_baseline,
            flooded: of.is_flood,
            seconds: of.millis as f64 / 1000.0,
            plan: of.plan,
            error: of.error,
            samples: of.samples.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<rules::SampleNotification> for RuleSample {
    fn from(of: rules::SampleNotification) -> Self {
        Self {
            key: JsonScalar(Value::Object(of.key)),
            title: of.title,
            body: of.body,
            link: of.link,
            template_error: of.template_error,
            audience_size: to_int(of.audience_size),
        }
    }
}

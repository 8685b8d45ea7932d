//! What a rule would do.

use async_graphql::SimpleObject;
use serde_json::Value;

use crate::domain::rule;
use crate::graphql::json::Json;
use crate::graphql::scalars::int;

/// What a rule would do now.
#[derive(SimpleObject)]
pub struct TryRulePayload {
    /// Rows of the result.
    pub rows: i32,
    /// How many would be raised.
    pub raised: i32,
    /// How many would be amended.
    pub amended: i32,
    /// How many would be resolved.
    pub resolved: i32,
    /// It would be the first complete result, which is remembered and raises nothing.
    pub baseline: bool,
    /// More are new than `maxNew`: it would raise nothing, and pause.
    pub flooded: bool,
    /// How long the source took.
    pub seconds: f64,
    /// How the source goes about it, in its own words; null where it does not say.
    pub plan: Option<String>,
    /// Why there is no result, or which row cannot be raised.
    pub error: Option<String>,
    /// What would be said about the first rows that are new.
    pub samples: Vec<RuleSample>,
}

/// What would be said about a row.
#[derive(SimpleObject)]
pub struct RuleSample {
    /// Its key: column → value.
    pub key: Json,
    /// By the type's template; null where that says nothing.
    pub title: Option<String>,
    /// By the type's template.
    pub body: Option<String>,
    /// By the type's template.
    pub link: Option<String>,
    /// What is wrong with the type's template for this row.
    pub template_error: Option<String>,
    /// How many users it would address, whether or not they want it.
    pub audience_size: i32,
}

impl From<rule::Trial> for TryRulePayload {
    #[expect(clippy::cast_precision_loss, reason = "nobody looks at it that closely")]
    fn from(of: rule::Trial) -> Self {
        Self {
            rows: int(of.found),
            raised: int(of.raised),
            amended: int(of.amended),
            resolved: int(of.resolved),
            baseline: of.is_baseline,
            flooded: of.is_flood,
            seconds: of.millis as f64 / 1000.0,
            plan: of.plan,
            error: of.error,
            samples: of.samples.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<rule::Sample> for RuleSample {
    fn from(of: rule::Sample) -> Self {
        Self {
            key: Json(Value::Object(of.key)),
            title: of.title,
            body: of.body,
            link: of.link,
            template_error: of.template_error,
            audience_size: int(of.audience_size),
        }
    }
}

//! Inputs of rules.

use async_graphql::{Enum, InputObject, OneofObject};

use base::error::Result;
use rules::{AlarmTarget, PlaceholderText, RowAudience, RuleDefinition, ScheduledScan};

/// What happens to a notification when its row is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rules::ResolvePolicy")]
pub enum RuleResolve {
    /// It is retracted, as by `retractSentNotification`.
    Retract,
    /// It stays until it expires.
    Keep,
}

/// What happens to the rows of the first complete result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rules::FirstRun")]
pub enum RuleFirstRun {
    /// They are remembered, and raise nothing.
    Baseline,
    /// They raise notifications.
    Raise,
}

/// A query for rows that need attention, and the notification for each. Absent fields return to their defaults.
#[derive(InputObject)]
pub struct NotificationRuleInput {
    /// Your code for the rule, 1 to 128 characters. The rule with this code is changed, or created.
    pub code: String,
    /// Code of the message type to send. Its template renders the row's columns as `params`.
    pub r#type: String,
    /// The query. Without it, `reportRuleRows` supplies the rows.
    pub scan: Option<RuleScanInput>,
    /// The 1 to 8 columns that identify a row. They cannot be changed later. A row raises one notification while it is
    /// there.
    pub key: Vec<String>,
    /// The readers of a row's notification.
    pub audience: RuleAudienceInput,
    /// When the row is gone.
    #[graphql(default_with = "Some(RuleResolve::Retract)")]
    pub resolve: Option<RuleResolve>,
    /// A row counts as gone after this many consecutive complete results without it, 1 to 100.
    #[graphql(default_with = "Some(1)")]
    pub resolve_after: Option<i32>,
    /// Whether a changed row amends its notification.
    #[graphql(default_with = "Some(true)")]
    pub amend: Option<bool>,
    /// Seconds after which a row that is still there raises a new notification, which replaces the previous one: a
    /// minute to a year. Default: once.
    pub repeat_after_seconds: Option<i32>,
    /// What happens to the rows of the first complete result.
    #[graphql(default_with = "Some(RuleFirstRun::Baseline)")]
    pub first_run: Option<RuleFirstRun>,
    /// If a result or a chunk of a report has more new rows, 1 to 10,000, the rule raises nothing and pauses.
    #[graphql(default_with = "Some(200)")]
    pub max_new: Option<i32>,
    /// Sent when the rule pauses itself, or fails three times in a row. Default: only the log and the metrics report
    /// it.
    pub alarm: Option<RuleAlarmInput>,
}

/// A scheduled query.
#[derive(InputObject)]
pub struct RuleScanInput {
    /// Name of one of `ruleSources`.
    pub source: String,
    /// One SELECT of at most 16 KiB. `:now` is the instant of the run, `:since` that of the last complete run (1970
    /// before the first).
    pub sql: String,
    /// Cron with five fields, or `@every 30s` (`5m`, `1h`), at least 10 s.
    pub schedule: String,
    /// Time zone of the cron fields, such as `Europe/Berlin`.
    #[graphql(default_with = "Some(\"UTC\".to_owned())")]
    pub time_zone: Option<String>,
    /// Time-out in milliseconds. The source's own time-out applies if it is shorter, or if this is absent.
    pub timeout_ms: Option<i32>,
}

/// The readers of a row's notification.
#[derive(OneofObject)]
pub enum RuleAudienceInput {
    /// The subscribers of an action on a target: users and groups.
    Reminder(RuleReminderInput),
    /// Column with your id of the user.
    UserColumn(String),
    /// Column with the code of the group.
    GroupColumn(String),
    /// `true`: all users of the tenant.
    Everyone(bool),
}

/// A target and an action. `{{ column }}` stands for the row's value.
#[derive(InputObject)]
pub struct RuleReminderInput {
    /// Type of the target, such as `warehouse`.
    pub target_type: String,
    /// Your id of the target, such as `{{ warehouse_id }}`.
    pub target_id: String,
    /// The action, such as `stock_low`.
    pub action: String,
}

/// An announcement to a group.
#[derive(InputObject)]
pub struct RuleAlarmInput {
    /// Code of the message type. Its template has the params `rule`, `outcome` and `error`.
    pub r#type: String,
    /// Code of the group.
    #[graphql(default_with = "Some(\"operators\".to_owned())")]
    pub group: Option<String>,
}

impl NotificationRuleInput {
    /// The rule's code and definition.
    pub fn into_definition(self) -> Result<(String, RuleDefinition)> {
        let definition = RuleDefinition {
            message_type: self.r#type,
            scan: self.scan.map(Into::into),
            key: self.key,
            audience: self.audience.into_audience().map_err(|error| error.with_field_prefix("audience"))?,
            resolve: self.resolve.map(Into::into).unwrap_or_default(),
            resolve_after: self.resolve_after.map_or(1, i64::from),
            amends: self.amend.unwrap_or(true),
            repeat_after: self.repeat_after_seconds.map(|seconds| i64::from(seconds) * 1000),
            first_run: self.first_run.map(Into::into).unwrap_or_default(),
            max_new: self.max_new.map_or(200, |most| usize::try_from(most).unwrap_or_default()),
            alarm: self.alarm.map(Into::into),
        };
        Ok((self.code, definition))
    }
}

impl From<RuleScanInput> for ScheduledScan {
    fn from(input: RuleScanInput) -> Self {
        Self {
            source: input.source,
            sql: input.sql,
            schedule: input.schedule,
            time_zone: input.time_zone.unwrap_or_else(|| "UTC".to_owned()),
            timeout: input.timeout_ms.map(i64::from),
        }
    }
}

impl RuleAudienceInput {
    fn into_audience(self) -> Result<RowAudience> {
        Ok(match self {
            Self::Everyone(true) => RowAudience::Everyone,
            Self::Everyone(false) => {
                return Err(base::error::Error::bad_input(
                    "everyone",
                    "must be true, or choose another audience instead",
                ));
            }
            Self::UserColumn(column) => RowAudience::UserColumn(column),
            Self::GroupColumn(column) => RowAudience::GroupColumn(column),
            Self::Reminder(reminder) => {
                let words = |field: &str, text: String| {
                    PlaceholderText::parse(text)
                        .map_err(|error| error.with_field_prefix(field).with_field_prefix("reminder"))
                };
                RowAudience::Reminder {
                    target_type: words("targetType", reminder.target_type)?,
                    target_id: words("targetId", reminder.target_id)?,
                    action: words("action", reminder.action)?,
                }
            }
        })
    }
}

impl From<RuleAlarmInput> for AlarmTarget {
    fn from(input: RuleAlarmInput) -> Self {
        Self { message_type: input.r#type, group: input.group.unwrap_or_else(|| "operators".to_owned()) }
    }
}

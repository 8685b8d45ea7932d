//! What rules are made of.

use async_graphql::{Enum, InputObject, OneofObject};

use crate::domain::rule::{self, Alarm, Audience, Definition, Scan, Words};
use crate::error::Result;

/// What becomes of a notification when its row is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rule::Resolve")]
pub enum RuleResolve {
    /// It is taken back, as by `retractSentNotification`.
    Retract,
    /// It stays until it expires.
    Keep,
}

/// What becomes of the rows that the first complete result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rule::FirstRun")]
pub enum RuleFirstRun {
    /// They are remembered: nobody hears of what was there before the rule.
    Baseline,
    /// They are raised.
    Raise,
}

/// Rows of a business table that ought not to be there, and what to say about each. What is left out goes back to its default.
#[derive(InputObject)]
pub struct NotificationRuleInput {
    /// 1 to 128 characters; the rule with this code is changed, or made.
    pub code: String,
    /// Code of the message type of what it raises. Its template renders the row's columns, which are its `params`.
    pub r#type: String,
    /// Where its rows come from; where it is left out, `reportRuleRows` hands them in.
    pub scan: Option<RuleScanInput>,
    /// The columns that say which row it is, 1 to 8; they stay as they are. A row is raised once while it is there.
    pub key: Vec<String>,
    /// Who hears of a row.
    pub audience: RuleAudienceInput,
    /// When the row has gone.
    #[graphql(default_with = "Some(RuleResolve::Retract)")]
    pub resolve: Option<RuleResolve>,
    /// Complete results in a row without it, until a row counts as gone; 1 to 100.
    #[graphql(default_with = "Some(1)")]
    pub resolve_after: Option<i32>,
    /// Whether a row that has changed amends what was raised.
    #[graphql(default_with = "Some(true)")]
    pub amend: Option<bool>,
    /// After so long, a minute to a year, a row that is still there is raised anew, in the place of what was raised. Once where it
    /// is left out.
    pub repeat_after_seconds: Option<i32>,
    /// What becomes of the rows that the first complete result has.
    #[graphql(default_with = "Some(RuleFirstRun::Baseline)")]
    pub first_run: Option<RuleFirstRun>,
    /// Where more rows are new in one result, or one chunk of a report, the rule raises nothing and pauses; 1 to 10,000.
    #[graphql(default_with = "Some(200)")]
    pub max_new: Option<i32>,
    /// Whom it tells that it has paused by itself, or failed three times in a row; the log and the figures where it is left out.
    pub alarm: Option<RuleAlarmInput>,
}

/// A query that is run from time to time.
#[derive(InputObject)]
pub struct RuleScanInput {
    /// Name of one of `ruleSources`.
    pub source: String,
    /// One SELECT, 16 KiB at most. `:now` is the instant of the run, `:since` that of the last complete one (1970 before the first).
    pub sql: String,
    /// Cron of five fields, or `@every 30s` (`5m`, `1h`), 10 s at least.
    pub schedule: String,
    /// By whose clocks the fields of cron are read, such as `Europe/Berlin`.
    #[graphql(default_with = "Some(\"UTC\".to_owned())")]
    pub time_zone: Option<String>,
    /// How long it may take; the source's own time where that is shorter, or this is left out.
    pub timeout_ms: Option<i32>,
}

/// Who hears of a row.
#[derive(OneofObject)]
pub enum RuleAudienceInput {
    /// The subscribers of an action on a target, users and groups.
    Reminder(RuleReminderInput),
    /// The user whose id is in this column.
    UserColumn(String),
    /// The group whose code is in this column.
    GroupColumn(String),
    /// True: all users of the tenant.
    Everyone(bool),
}

/// A target and an action, in which `{{ column }}` stands for what the row has there.
#[derive(InputObject)]
pub struct RuleReminderInput {
    /// What kind of thing it is: `warehouse`.
    pub target_type: String,
    /// Which one: `{{ warehouse_id }}`.
    pub target_id: String,
    /// What has happened to it: `stock_low`.
    pub action: String,
}

/// An announcement to a group.
#[derive(InputObject)]
pub struct RuleAlarmInput {
    /// Code of its message type. A template gets `rule`, `outcome` and `error` as params.
    pub r#type: String,
    /// Code of the group.
    #[graphql(default_with = "Some(\"operators\".to_owned())")]
    pub group: Option<String>,
}

impl NotificationRuleInput {
    /// The rule's code, and what it is.
    pub fn read(self) -> Result<(String, Definition)> {
        let definition = Definition {
            message_type: self.r#type,
            scan: self.scan.map(Into::into),
            key: self.key,
            audience: self.audience.read().map_err(|error| error.within("audience"))?,
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

impl From<RuleScanInput> for Scan {
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
    fn read(self) -> Result<Audience> {
        Ok(match self {
            Self::Everyone(true) => Audience::Everyone,
            Self::Everyone(false) => {
                return Err(crate::error::Error::bad_input("everyone", "must be true, or name who it is instead"));
            }
            Self::UserColumn(column) => Audience::UserColumn(column),
            Self::GroupColumn(column) => Audience::GroupColumn(column),
            Self::Reminder(reminder) => {
                let words = |field: &str, text: String| {
                    Words::parse(text).map_err(|error| error.within(field).within("reminder"))
                };
                Audience::Reminder {
                    target_type: words("targetType", reminder.target_type)?,
                    target_id: words("targetId", reminder.target_id)?,
                    action: words("action", reminder.action)?,
                }
            }
        })
    }
}

impl From<RuleAlarmInput> for Alarm {
    fn from(input: RuleAlarmInput) -> Self {
        Self { message_type: input.r#type, group: input.group.unwrap_or_else(|| "operators".to_owned()) }
    }
}

//! Rules: queries that find rows, and the notification sent for each row.

mod columns;
mod difference;
mod placeholder;
mod row;
mod schedule;

use serde::{Deserialize, Serialize};

use super::alarm::AlarmTarget;
use super::validate;
use base::clock::Millis;
use base::error::{Error, Result};
pub use columns::{ColumnValues, id_text};
pub use difference::{DiffOptions, RowDiff, StoredRow, diff_rows};
pub use placeholder::PlaceholderText;
pub use row::{ResultRow, prepare_rows, row_name};
pub use schedule::RuleSchedule;

/// Maximum columns of a key.
const KEY_COLUMNS: usize = 8;
/// Maximum bytes of a query.
const SQL_BYTES: usize = 16 * 1024;
/// Maximum new rows of a run that may be notified.
pub const MOST_NEW: usize = 10_000;
/// Maximum of `resolve_after`.
const RUNS: i64 = 100;
/// Minimum of `repeat_after`, in milliseconds.
const REPEAT: Millis = 60_000;
/// Maximum of `repeat_after`, in milliseconds: a year.
const LONGEST: Millis = 366 * 24 * 3_600_000;

/// A rule's definition, without its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleDefinition {
    /// Code of the message type; its template renders the notifications.
    pub message_type: String,
    /// The query; `None` if an external system reports the rows.
    pub scan: Option<ScheduledScan>,
    /// The columns that identify a row.
    pub key: Vec<String>,
    pub audience: RowAudience,
    pub resolve: ResolvePolicy,
    /// Consecutive complete runs without a row until it counts as gone.
    pub resolve_after: i64,
    /// Whether a changed row amends its notification.
    pub amends: bool,
    /// Milliseconds after which a row that is still there is notified again.
    pub repeat_after: Option<Millis>,
    pub first_run: FirstRun,
    /// A run with more new rows pauses the rule.
    pub max_new: usize,
    /// Where failures and automatic pauses are announced.
    pub alarm: Option<AlarmTarget>,
}

/// A scheduled query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledScan {
    /// Name of a configured source.
    pub source: String,
    pub sql: String,
    pub schedule: String,
    pub time_zone: String,
    /// In milliseconds.
    pub timeout: Option<Millis>,
}

/// Who is notified of a row. Texts may name columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowAudience {
    Everyone,
    /// The subscribers to an action on a target.
    Reminder {
        target_type: PlaceholderText,
        target_id: PlaceholderText,
        action: PlaceholderText,
    },
    /// The user with the id in this column.
    UserColumn(String),
    /// The group with the code in this column.
    GroupColumn(String),
}

/// What happens to a notification once its row is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResolvePolicy {
    /// It is retracted.
    #[default]
    Retract,
    Keep,
}

/// What happens to rows that the first complete run finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FirstRun {
    /// They are recorded without a notification.
    #[default]
    Baseline,
    Raise,
}

impl RuleDefinition {
    /// How rows are compared in a run that begins at `now`; `complete_no` is its number if it is a complete run.
    pub fn diff_options(&self, complete_no: Option<i64>, now: Millis) -> DiffOptions {
        DiffOptions {
            complete_no,
            resolve_after: self.resolve_after,
            amends: self.amends,
            repeats_before: self.repeat_after.map(|after| now - after),
        }
    }

    /// Fails if the definition is invalid.
    pub fn check(&self) -> Result<()> {
        validate::at_most("key", self.key.len(), KEY_COLUMNS)?;
        if self.key.is_empty() {
            return Err(Error::bad_input("key", "must name at least one column"));
        }
        validate::identifiers("key", &self.key)?;
        if let Some(place) = (1..self.key.len()).find(|place| self.key[..*place].contains(&self.key[*place])) {
            return Err(Error::bad_input(format!("key[{place}]"), "is named twice"));
        }
        if let Some(scan) = &self.scan {
            scan.check().map_err(|error| error.with_field_prefix("scan"))?;
        }
        self.audience.check().map_err(|error| error.with_field_prefix("audience"))?;
        check_range("resolveAfter", self.resolve_after, 1, RUNS)?;
        if let Some(after) = self.repeat_after {
            check_range("repeatAfterSeconds", after / 1000, REPEAT / 1000, LONGEST / 1000)?;
        }
        check_range("maxNew", self.max_new, 1, MOST_NEW)?;
        self.alarm.as_ref().map_or(Ok(()), |alarm| validate::identifier("alarm.group", &alarm.group))
    }
}

impl ScheduledScan {
    fn check(&self) -> Result<()> {
        validate::body("sql", &self.sql, SQL_BYTES)?;
        if self.sql.trim().is_empty() {
            return Err(Error::bad_input("sql", "must be a SELECT"));
        }
        if let Some(timeout) = self.timeout {
            check_range("timeoutMs", timeout, 1, 3_600_000)?;
        }
        self.schedule().map(drop)
    }

    /// The parsed schedule.
    pub fn schedule(&self) -> Result<RuleSchedule> {
        RuleSchedule::parse(&self.schedule, &self.time_zone)
    }
}

impl RowAudience {
    fn check(&self) -> Result<()> {
        match self {
            Self::Everyone => Ok(()),
            Self::UserColumn(column) => validate::identifier("userColumn", column),
            Self::GroupColumn(column) => validate::identifier("groupColumn", column),
            Self::Reminder { target_type, target_id, action } => {
                let words = [("targetType", target_type), ("targetId", target_id), ("action", action)];
                words.into_iter().try_for_each(|(field, words)| {
                    validate::identifier(field, words.text()).map_err(|error| error.with_field_prefix("reminder"))
                })
            }
        }
    }
}

fn check_range<N: Copy + PartialOrd + std::fmt::Display>(field: &str, number: N, least: N, most: N) -> Result<()> {
    if number < least || number > most {
        return Err(Error::bad_input(field, format!("must be {least} to {most}, not {number}")));
    }
    Ok(())
}

//! Reported rows.

use async_graphql::InputObject;
use serde_json::Value;

use crate::graphql::json::JsonScalar;
use base::error::{Error, Result};
use rules::{ColumnValues, RowReport};

/// Rows for a rule without a scan.
#[derive(InputObject)]
pub struct ReportRuleRowsInput {
    /// Code of the rule.
    pub rule: String,
    /// Column → value; 10,000 rows at most, of 16 KiB each and 2 MiB together.
    pub rows: Vec<JsonScalar>,
    /// Whether these are all rows of the result, so that absent rows are gone. If false, nothing is resolved.
    #[graphql(default_with = "Some(true)")]
    pub complete: Option<bool>,
    /// Your name for this result, 1 to 128 characters. Repeating one of the last 50 names changes nothing. Required
    /// for several chunks.
    pub run: Option<String>,
    /// Number of this part of a complete result, from 0 on, in order.
    #[graphql(default_with = "Some(0)")]
    pub chunk: Option<i32>,
    /// Whether further chunks follow. Only the last chunk resolves rows that were in none of them.
    #[graphql(default_with = "Some(false)")]
    pub more: Option<bool>,
}

impl ReportRuleRowsInput {
    /// The rule's code and the report.
    pub fn into_report(self) -> Result<(String, RowReport)> {
        let rows = self.rows.into_iter().enumerate().map(|(place, JsonScalar(row))| into_columns(place, row));
        let report = RowReport {
            rows: rows.collect::<Result<Vec<_>>>()?,
            is_complete: self.complete.unwrap_or(true),
            run: self.run,
            chunk: self.chunk.unwrap_or_default().into(),
            has_more: self.more.unwrap_or_default(),
        };
        Ok((self.rule, report))
    }
}

fn into_columns(place: usize, row: Value) -> Result<ColumnValues> {
    match row {
        Value::Object(row) => Ok(row),
        _ => Err(Error::bad_input(format!("rows[{place}]"), "must be an object of columns")),
    }
}

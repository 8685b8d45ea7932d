//! Rows that others hand in.

use async_graphql::InputObject;
use serde_json::Value;

use crate::domain::rule::{Columns, Report};
use crate::error::{Error, Result};
use crate::graphql::json::Json;

/// Rows that somebody hands in.
#[derive(InputObject)]
pub struct ReportRuleRowsInput {
    /// Code of the rule.
    pub rule: String,
    /// Column → value; 10,000 at most, of 16 KiB each and 2 MiB together.
    pub rows: Vec<Json>,
    /// Whether it is all of the result, so that what is not in it has gone. False: nothing is resolved.
    #[graphql(default_with = "Some(true)")]
    pub complete: Option<bool>,
    /// What the caller calls this result, 1 to 128 characters: reported again under the same name, among the last 50, it changes
    /// nothing. Needed for several chunks.
    pub run: Option<String>,
    /// Which part of a complete result this is, from 0 on, one after the other.
    #[graphql(default_with = "Some(0)")]
    pub chunk: Option<i32>,
    /// Further chunks follow: only the last resolves what was in none of them.
    #[graphql(default_with = "Some(false)")]
    pub more: Option<bool>,
}

impl ReportRuleRowsInput {
    /// The rule's code, and what is reported.
    pub fn read(self) -> Result<(String, Report)> {
        let rows = self.rows.into_iter().enumerate().map(|(place, Json(row))| columns(place, row));
        let report = Report {
            rows: rows.collect::<Result<Vec<_>>>()?,
            is_complete: self.complete.unwrap_or(true),
            run: self.run,
            chunk: self.chunk.unwrap_or_default().into(),
            has_more: self.more.unwrap_or_default(),
        };
        Ok((self.rule, report))
    }
}

fn columns(place: usize, row: Value) -> Result<Columns> {
    match row {
        Value::Object(row) => Ok(row),
        _ => Err(Error::bad_input(format!("rows[{place}]"), "must be an object of columns")),
    }
}

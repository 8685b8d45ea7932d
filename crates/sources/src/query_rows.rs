//! The result of a scan, with bounded size and as JSON for every kind of source.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use serde_json::{Map, Value};

use super::failure::QueryFailure;
use base::json::has_reserved_key;

/// Maximum size of a result, in bytes. Further rows are not read.
const BYTES: usize = 16 << 20;

/// Maximum size of a value, in bytes.
const VALUE_BYTES: usize = 64 << 10;

/// The cost of a value in addition to its text, in bytes.
const OVERHEAD: usize = 32;

/// The largest integer that every JSON parser represents exactly.
const EXACT: u64 = 1 << 53;

/// Rows in the order of the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryRows {
    /// Set even if there are no rows.
    pub columns: Vec<String>,
    pub rows: Vec<Map<String, Value>>,
    /// There were more rows or bytes than allowed.
    pub is_truncated: bool,
}

/// Why a value cannot be represented as JSON.
#[derive(Debug)]
pub enum UnsupportedValue {
    /// Bytes, or another type without a JSON representation.
    Type(String),
    TooLong,
    /// The value does not match its type.
    Broken,
}

impl UnsupportedValue {
    /// The error message, without the value.
    pub fn into_failure(self, column: &str) -> QueryFailure {
        QueryFailure::failed_statement(match self {
            Self::Type(name) => {
                format!("the column {column:?} is of the type {name}, which is not supported: cast it to text")
            }
            Self::TooLong => format!("the column {column:?} has a value of more than {} KiB", VALUE_BYTES >> 10),
            Self::Broken => format!("the column {column:?} has a value that cannot be read"),
        })
    }
}

/// Collects rows up to the limits.
pub struct RowCollector {
    found: QueryRows,
    limit: usize,
    bytes: usize,
}

impl RowCollector {
    /// Fails if columns have no names or equal names.
    pub fn for_columns(columns: Vec<String>, limit: usize) -> Result<Self, QueryFailure> {
        if columns.is_empty() {
            return Err(QueryFailure::rejected_statement("the statement returns no rows: a scan is one SELECT", None));
        }
        let mut names = HashSet::new();
        for (number, column) in (1..).zip(&columns) {
            if column.is_empty() {
                return Err(QueryFailure::failed_statement(format!(
                    "column {number} has no name: give it one with AS"
                )));
            }
            if !names.insert(column) {
                return Err(QueryFailure::failed_statement(format!(
                    "two columns are called {column:?}: rename one of them with AS"
                )));
            }
        }
        Ok(Self { found: QueryRows { columns, ..QueryRows::default() }, limit, bytes: 0 })
    }

    /// Adds a row if the limits allow it, and returns whether they did. `value` returns the value of a column.
    pub fn add_row(&mut self, value: impl Fn(usize) -> Result<Value, UnsupportedValue>) -> Result<bool, QueryFailure> {
        if self.found.rows.len() >= self.limit {
            self.found.is_truncated = true;
            return Ok(false);
        }
        let mut row = Map::new();
        for (index, column) in self.found.columns.iter().enumerate() {
            let value = value(index).map_err(|unfit| unfit.into_failure(column))?;
            self.bytes += column.len() + OVERHEAD + json_size(&value);
            row.insert(column.clone(), value);
        }
        if self.bytes > BYTES {
            self.found.is_truncated = true;
            return Ok(false);
        }
        self.found.rows.push(row);
        Ok(true)
    }

    pub fn into_rows(self) -> QueryRows {
        self.found
    }
}

fn json_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(|value| OVERHEAD + json_size(value)).sum(),
        Value::Object(all) => all.iter().map(|(name, value)| name.len() + OVERHEAD + json_size(value)).sum(),
        _ => 0,
    }
}

pub fn integer_value(number: i64) -> Value {
    if number.unsigned_abs() <= EXACT { number.into() } else { number.to_string().into() }
}

pub fn unsigned_value(number: u64) -> Value {
    if number <= EXACT { number.into() } else { number.to_string().into() }
}

/// Numbers that JSON cannot represent become text, as in PostgreSQL.
pub fn float_value(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => number.into(),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// The shortest decimal that identifies this `f32`, instead of its exact value as an `f64`.
pub fn short_float_value(number: f32) -> Value {
    float_value(number.to_string().parse().unwrap_or(f64::from(number)))
}

/// Fails if the text is too long or not UTF-8.
pub fn text_value(bytes: &[u8]) -> Result<Value, UnsupportedValue> {
    check_size(bytes)?;
    std::str::from_utf8(bytes).map(Value::from).map_err(|_| UnsupportedValue::Broken)
}

/// A JSON document from the source.
pub fn json_value(bytes: &[u8]) -> Result<Value, UnsupportedValue> {
    check_size(bytes)?;
    if has_reserved_key(bytes) {
        return Err(UnsupportedValue::Broken);
    }
    serde_json::from_slice(bytes).map_err(|_| UnsupportedValue::Broken)
}

fn check_size(bytes: &[u8]) -> Result<(), UnsupportedValue> {
    if bytes.len() > VALUE_BYTES { Err(UnsupportedValue::TooLong) } else { Ok(()) }
}

/// A point in time, in UTC.
pub fn utc_time(micros: i64) -> Result<Value, UnsupportedValue> {
    let instant = DateTime::from_timestamp_micros(micros).ok_or(UnsupportedValue::Broken)?;
    Ok(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true).into())
}

/// A date and time without a time zone.
pub fn local_time(time: NaiveDateTime) -> Value {
    time.format("%Y-%m-%dT%H:%M:%S%.f").to_string().into()
}

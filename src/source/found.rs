//! The result of a scan, with bounded size and as JSON for every kind of source.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::json::is_reserved;

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
pub struct Found {
    /// Set even if there are no rows.
    pub columns: Vec<String>,
    pub rows: Vec<Map<String, Value>>,
    /// There were more rows or bytes than allowed.
    pub is_truncated: bool,
}

/// Why a value cannot be represented as JSON.
#[derive(Debug)]
pub enum Unfit {
    /// Bytes, or another type without a JSON representation.
    Type(String),
    TooLong,
    /// The value does not match its type.
    Broken,
}

impl Unfit {
    /// The error message, without the value.
    pub fn of(self, column: &str) -> Failure {
        Failure::failed(match self {
            Self::Type(name) => {
                format!("the column {column:?} is of the type {name}, which is not supported: cast it to text")
            }
            Self::TooLong => format!("the column {column:?} has a value of more than {} KiB", VALUE_BYTES >> 10),
            Self::Broken => format!("the column {column:?} has a value that cannot be read"),
        })
    }
}

/// Collects rows up to the limits.
pub struct Gathering {
    found: Found,
    limit: usize,
    bytes: usize,
}

impl Gathering {
    /// Fails if columns have no names or equal names.
    pub fn of(columns: Vec<String>, limit: usize) -> Result<Self, Failure> {
        if columns.is_empty() {
            return Err(Failure::refused("the statement returns no rows: a scan is one SELECT", None));
        }
        let mut names = HashSet::new();
        for (number, column) in (1..).zip(&columns) {
            if column.is_empty() {
                return Err(Failure::failed(format!("column {number} has no name: give it one with AS")));
            }
            if !names.insert(column) {
                return Err(Failure::failed(format!("two columns are called {column:?}: rename one of them with AS")));
            }
        }
        Ok(Self { found: Found { columns, ..Found::default() }, limit, bytes: 0 })
    }

    /// Adds a row if the limits allow it, and returns whether they did. `value` returns the value of a column.
    pub fn takes(&mut self, value: impl Fn(usize) -> Result<Value, Unfit>) -> Result<bool, Failure> {
        if self.found.rows.len() >= self.limit {
            self.found.is_truncated = true;
            return Ok(false);
        }
        let mut row = Map::new();
        for (index, column) in self.found.columns.iter().enumerate() {
            let value = value(index).map_err(|unfit| unfit.of(column))?;
            self.bytes += column.len() + OVERHEAD + weight(&value);
            row.insert(column.clone(), value);
        }
        if self.bytes > BYTES {
            self.found.is_truncated = true;
            return Ok(false);
        }
        self.found.rows.push(row);
        Ok(true)
    }

    pub fn end(self) -> Found {
        self.found
    }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(|value| OVERHEAD + weight(value)).sum(),
        Value::Object(all) => all.iter().map(|(name, value)| name.len() + OVERHEAD + weight(value)).sum(),
        _ => 0,
    }
}

pub fn integer(number: i64) -> Value {
    if number.unsigned_abs() <= EXACT { number.into() } else { number.to_string().into() }
}

pub fn natural(number: u64) -> Value {
    if number <= EXACT { number.into() } else { number.to_string().into() }
}

/// Numbers that JSON cannot represent become text, as in PostgreSQL.
pub fn real(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => number.into(),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// The shortest decimal that identifies this `f32`, instead of its exact value as an `f64`.
pub fn short_real(number: f32) -> Value {
    real(number.to_string().parse().unwrap_or(f64::from(number)))
}

/// Fails if the text is too long or not UTF-8.
pub fn text(bytes: &[u8]) -> Result<Value, Unfit> {
    fits(bytes)?;
    std::str::from_utf8(bytes).map(Value::from).map_err(|_| Unfit::Broken)
}

/// A JSON document from the source.
pub fn json(bytes: &[u8]) -> Result<Value, Unfit> {
    fits(bytes)?;
    if is_reserved(bytes) {
        return Err(Unfit::Broken);
    }
    serde_json::from_slice(bytes).map_err(|_| Unfit::Broken)
}

fn fits(bytes: &[u8]) -> Result<(), Unfit> {
    if bytes.len() > VALUE_BYTES { Err(Unfit::TooLong) } else { Ok(()) }
}

/// A point in time, in UTC.
pub fn instant(micros: i64) -> Result<Value, Unfit> {
    let instant = DateTime::from_timestamp_micros(micros).ok_or(Unfit::Broken)?;
    Ok(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true).into())
}

/// A date and time without a time zone.
pub fn local(time: NaiveDateTime) -> Value {
    time.format("%Y-%m-%dT%H:%M:%S%.f").to_string().into()
}

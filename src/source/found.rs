//! What a scan found, within bounds, and as JSON whatever the source.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::json::is_reserved;

/// The most bytes of a result: what comes after is left there.
const BYTES: usize = 16 << 20;

/// The most bytes of a value.
const VALUE_BYTES: usize = 64 << 10;

/// What a value costs besides its text.
const OVERHEAD: usize = 32;

/// The largest integer that every reader of JSON keeps as it is.
const EXACT: u64 = 1 << 53;

/// Rows, in the order of the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Also where there are no rows.
    pub columns: Vec<String>,
    pub rows: Vec<Map<String, Value>>,
    /// There were more, or more bytes, than may be.
    pub is_truncated: bool,
}

/// Why a value cannot be had as JSON.
#[derive(Debug)]
pub enum Unfit {
    /// Bytes, or a type that there is no JSON for.
    Type(String),
    TooLong,
    /// It is not what its type says.
    Broken,
}

impl Unfit {
    /// In words, without the value.
    pub fn of(self, column: &str) -> Failure {
        Failure::failed(match self {
            Self::Type(name) => {
                format!("the column {column:?} is of the type {name}, which is not read: cast it to text")
            }
            Self::TooLong => format!("the column {column:?} has a value of more than {} KiB", VALUE_BYTES >> 10),
            Self::Broken => format!("the column {column:?} has a value that cannot be read"),
        })
    }
}

/// Takes rows until there are enough.
pub struct Gathering {
    found: Found,
    limit: usize,
    bytes: usize,
}

impl Gathering {
    /// Fails where columns have no names, or the same.
    pub fn of(columns: Vec<String>, limit: usize) -> Result<Self, Failure> {
        if columns.is_empty() {
            return Err(Failure::refused("the statement finds no rows: a scan is one SELECT", None));
        }
        let mut names = HashSet::new();
        for (number, column) in (1..).zip(&columns) {
            if column.is_empty() {
                return Err(Failure::failed(format!("column {number} has no name: give it one by AS")));
            }
            if !names.insert(column) {
                return Err(Failure::failed(format!("two columns are called {column:?}: name one of them by AS")));
            }
        }
        Ok(Self { found: Found { columns, ..Found::default() }, limit, bytes: 0 })
    }

    /// Whether there is room for more rows; `value` gives that of a column.
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

/// What JSON has no number for is said as PostgreSQL does.
pub fn real(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => number.into(),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// The shortest number that is this one, rather than all that it has as a longer one.
pub fn short_real(number: f32) -> Value {
    real(number.to_string().parse().unwrap_or(f64::from(number)))
}

/// Fails where it is too long, or no UTF-8.
pub fn text(bytes: &[u8]) -> Result<Value, Unfit> {
    fits(bytes)?;
    std::str::from_utf8(bytes).map(Value::from).map_err(|_| Unfit::Broken)
}

/// A document of the source's.
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

/// An instant, in UTC.
pub fn instant(micros: i64) -> Result<Value, Unfit> {
    let instant = DateTime::from_timestamp_micros(micros).ok_or(Unfit::Broken)?;
    Ok(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true).into())
}

/// A time of which nobody says where it is so late.
pub fn local(time: NaiveDateTime) -> Value {
    time.format("%Y-%m-%dT%H:%M:%S%.f").to_string().into()
}

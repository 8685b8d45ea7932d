//! Columns of a row.

use serde_json::{Map, Value};

use crate::json;
use base::error::{Error, Result};

/// Column → value.
pub type ColumnValues = Map<String, Value>;

/// The value of a column as text for an id.
pub fn id_text(row: &ColumnValues, column: &str) -> Result<String> {
    let refuse = |message: &str| Err(Error::bad_input(column, message));
    match row.get(column) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(json::narrow_number(number).to_string()),
        Some(Value::Bool(is)) => Ok(is.to_string()),
        Some(Value::Null) => refuse("is null"),
        Some(Value::Array(_) | Value::Object(_)) => refuse("is neither text nor a number"),
        None => refuse("is not a column of the row"),
    }
}

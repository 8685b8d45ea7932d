//! What a row has.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::json;

/// Column → value.
pub type Columns = Map<String, Value>;

/// What a row has in a column, as an id is written.
pub fn text(row: &Columns, column: &str) -> Result<String> {
    let refuse = |message: &str| Err(Error::bad_input(column, message));
    match row.get(column) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(json::number(number).to_string()),
        Some(Value::Bool(is)) => Ok(is.to_string()),
        Some(Value::Null) => refuse("is null"),
        Some(Value::Array(_) | Value::Object(_)) => refuse("is neither text nor a number"),
        None => refuse("is no column"),
    }
}

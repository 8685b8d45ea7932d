//! The values of a line, by column.

use clap::ValueEnum;
use serde_json::{Map, Value};

use base::clock::{self, Millis};
use base::error::{Error, Result};
use base::json::has_reserved_key;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// RFC 4180, separated by commas, with the column names in the first line.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// The values of a line. A missing column, null and an empty cell have no value.
pub struct LineFields {
    said: Map<String, Value>,
    format: FileFormat,
}

impl LineFields {
    pub fn from_record(said: Map<String, Value>, format: FileFormat) -> Self {
        Self { said, format }
    }

    /// A string; ids may also be whole numbers.
    pub fn optional_text(&mut self, name: &str) -> Result<Option<String>> {
        match self.said.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(_) => Err(Error::bad_input(name, "must be a string")),
        }
    }

    /// A required string.
    pub fn required_text(&mut self, name: &str) -> Result<String> {
        self.optional_text(name)?.ok_or_else(|| Error::bad_input(name, "is required"))
    }

    /// A list of strings: an array, or in CSV one cell separated by semicolons.
    pub fn text_list(&mut self, name: &str) -> Result<Option<Vec<String>>> {
        let text = |value| match value {
            Value::String(text) => Ok(text),
            _ => Err(Error::bad_input(name, "must be an array of strings")),
        };
        match (self.said.remove(name), self.format) {
            (None, _) => Ok(None),
            (Some(Value::String(texts)), FileFormat::Csv) => {
                Ok(Some(texts.split(';').map(|text| text.trim().to_owned()).collect()))
            }
            (Some(Value::Array(texts)), _) => texts.into_iter().map(text).collect::<Result<_>>().map(Some),
            _ => Err(Error::bad_input(name, "must be an array of strings")),
        }
    }

    /// Any JSON; in CSV, the cell contains JSON text.
    pub fn json_value(&mut self, name: &str) -> Result<Option<Value>> {
        match (self.said.remove(name), self.format) {
            (Some(Value::String(text)), FileFormat::Csv) => {
                let json = Some(&text).filter(|text| !has_reserved_key(text.as_bytes()));
                let json = json.and_then(|text| serde_json::from_str(text).ok());
                json.map(Some).ok_or_else(|| Error::bad_input(name, "must be JSON"))
            }
            (value, _) => Ok(value),
        }
    }

    /// An instant in the format of the API.
    pub fn optional_time(&mut self, name: &str) -> Result<Option<Millis>> {
        let text = self.optional_text(name)?;
        text.map(|text| clock::parse_instant(&text).map_err(|why| Error::bad_input(name, why))).transpose()
    }
}

//! What a line says, by column.

use clap::ValueEnum;
use serde_json::{Map, Value};
use tidings::clock::{self, Millis};
use tidings::error::{Error, Result};
use tidings::json::is_reserved;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// RFC 4180, with commas, and the names of the columns in the first line.
    Csv,
    /// A JSON object in each line.
    Jsonl,
}

/// What a line says. A column that is left out says nothing, nor does null or an empty cell.
pub struct Fields {
    said: Map<String, Value>,
    format: Format,
}

impl Fields {
    pub fn of(said: Map<String, Value>, format: Format) -> Self {
        Self { said, format }
    }

    /// A text; ids may be whole numbers.
    pub fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.said.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(_) => Err(Error::bad_input(name, "must be a text")),
        }
    }

    /// A text that must be there.
    pub fn required(&mut self, name: &str) -> Result<String> {
        self.text(name)?.ok_or_else(|| Error::bad_input(name, "is required"))
    }

    /// Texts: an array, or in a cell with semicolons between them.
    pub fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>> {
        let text = |value| match value {
            Value::String(text) => Ok(text),
            _ => Err(Error::bad_input(name, "must be an array of texts")),
        };
        match (self.said.remove(name), self.format) {
            (None, _) => Ok(None),
            (Some(Value::String(texts)), Format::Csv) => {
                Ok(Some(texts.split(';').map(|text| text.trim().to_owned()).collect()))
            }
            (Some(Value::Array(texts)), _) => texts.into_iter().map(text).collect::<Result<_>>().map(Some),
            _ => Err(Error::bad_input(name, "must be an array of texts")),
        }
    }

    /// Any JSON, which in a cell is a text.
    pub fn json(&mut self, name: &str) -> Result<Option<Value>> {
        match (self.said.remove(name), self.format) {
            (Some(Value::String(text)), Format::Csv) => {
                let json = Some(&text).filter(|text| !is_reserved(text.as_bytes()));
                let json = json.and_then(|text| serde_json::from_str(text).ok());
                json.map(Some).ok_or_else(|| Error::bad_input(name, "must be JSON"))
            }
            (value, _) => Ok(value),
        }
    }

    /// An instant as the API has them.
    pub fn instant(&mut self, name: &str) -> Result<Option<Millis>> {
        let text = self.text(name)?;
        text.map(|text| clock::instant(&text).map_err(|why| Error::bad_input(name, why))).transpose()
    }
}

//! The variables of templates.

use std::collections::BTreeSet;

use minijinja::Value;
use serde_json::{Number, Value as Json};

use super::locale_filters::{READER, TemplateReader};
use crate::reader::{ReaderDependence, ReaderLocale};

/// Maximum nesting of lists and objects visible to a template; deeper values are missing.
const DEPTH: usize = 32;

/// All variables.
#[derive(Clone, Debug)]
pub struct TemplateVariables<'a> {
    pub params: &'a Json,
    pub data: &'a Json,
    pub sender: Json,
    pub target: Option<TargetVariables<'a>>,
    pub action: Option<&'a str>,
    /// The item's title and body, for templates of other channels; `None` for the item's own templates.
    pub shown: Option<ShownVariables>,
    /// The reader that it is rendered for.
    pub reader: &'a ReaderLocale,
}

/// The texts of an item.
#[derive(Clone, Debug)]
pub struct ShownVariables {
    pub title: String,
    pub body: Option<String>,
}

/// The target of a reminder.
#[derive(Clone, Debug)]
pub struct TargetVariables<'a> {
    pub r#type: &'a str,
    pub id: &'a str,
}

impl TemplateVariables<'_> {
    /// The values of these variables, and the reader if the text depends on it.
    pub(super) fn values(&self, names: &BTreeSet<String>, on: ReaderDependence) -> Value {
        let reader = on.is_any().then(|| (READER, TemplateReader::value_for(self.reader)));
        Value::from_pairs(names.iter().filter_map(|name| Some((name.as_str(), self.variable(name)?))).chain(reader))
    }

    fn variable(&self, name: &str) -> Option<Value> {
        match name {
            "params" => Some(top_level_value(self.params)),
            "data" => Some(top_level_value(self.data)),
            "sender" => Some(top_level_value(&self.sender)),
            "target" => {
                let target = |of: &TargetVariables<'_>| Value::from_pairs([("type", of.r#type), ("id", of.id)]);
                Some(self.target.as_ref().map_or(Value::from(()), target))
            }
            "action" => Some(Value::from(self.action)),
            "locale" => Some(Value::from(self.reader.locale())),
            "time_zone" => Some(Value::from(self.reader.time_zone())),
            "title" => self.shown.as_ref().map(|of| Value::from(of.title.as_str())),
            "body" => self.shown.as_ref().map(|of| Value::from(of.body.as_deref())),
            _ => None,
        }
    }
}

/// A whole variable. If it is null, such as a missing sender, its fields count as missing, which is no error:
/// `sender.name or "Shop"`.
fn top_level_value(json: &Json) -> Value {
    if json.is_null() { Value::from(()) } else { convert_value(json, DEPTH) }
}

/// Converts a value. `null` counts as missing: an absent field, or an undefined entry of a list.
fn convert_value(json: &Json, depth: usize) -> Value {
    match json {
        Json::Null => Value::UNDEFINED,
        Json::Array(_) | Json::Object(_) if depth == 0 => Value::UNDEFINED,
        Json::Array(entries) => entries.iter().map(|entry| convert_value(entry, depth - 1)).collect(),
        Json::Object(entries) => {
            let there = entries.iter().filter(|(_, entry)| !entry.is_null());
            Value::from_pairs(there.map(|(name, entry)| (name.as_str(), convert_value(entry, depth - 1))))
        }
        Json::Bool(is) => Value::from(*is),
        Json::Number(of) => convert_number(of),
        Json::String(text) => Value::from(text.as_str()),
    }
}

/// Converts a number: integers of up to 128 bits exactly, others to floats.
fn convert_number(of: &Number) -> Value {
    let whole = of.as_i64().map(Value::from).or_else(|| of.as_u64().map(Value::from));
    let large = || of.as_i128().map(Value::from).or_else(|| of.as_u128().map(Value::from));
    whole.or_else(large).or_else(|| of.as_f64().map(Value::from)).unwrap_or_else(|| Value::from(of.as_str()))
}

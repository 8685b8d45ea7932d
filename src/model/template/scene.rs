//! What templates speak of.

use std::collections::BTreeSet;

use minijinja::Value;
use serde_json::{Number, Value as Json};

/// The most lists and objects within each other that a template sees of what was sent; what is deeper is missing.
const DEPTH: usize = 32;

/// All that a template may speak of.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    pub params: &'a Json,
    pub data: &'a Json,
    pub sender: Json,
    pub target: Option<TargetScene<'a>>,
    pub action: Option<&'a str>,
    /// What the item shows by then, for what is written beside it; nothing for the item's own texts.
    pub shown: Option<ShownScene>,
}

/// What an item shows.
#[derive(Clone, Debug)]
pub struct ShownScene {
    pub title: String,
    pub body: Option<String>,
}

/// What a reminder is about.
#[derive(Clone, Debug)]
pub struct TargetScene<'a> {
    pub r#type: &'a str,
    pub id: &'a str,
}

impl Scene<'_> {
    /// What these names stand for.
    pub(super) fn values(&self, names: &BTreeSet<String>) -> Value {
        Value::from_pairs(names.iter().filter_map(|name| Some((name.as_str(), self.value(name)?))))
    }

    fn value(&self, name: &str) -> Option<Value> {
        match name {
            "params" => Some(whole(self.params)),
            "data" => Some(whole(self.data)),
            "sender" => Some(whole(&self.sender)),
            "target" => {
                let target = |of: &TargetScene<'_>| Value::from_pairs([("type", of.r#type), ("id", of.id)]);
                Some(self.target.as_ref().map_or(Value::from(()), target))
            }
            "action" => Some(Value::from(self.action)),
            "title" => self.shown.as_ref().map(|of| Value::from(of.title.as_str())),
            "body" => self.shown.as_ref().map(|of| Value::from(of.body.as_deref())),
            _ => None,
        }
    }
}

/// All of something. Where there is nothing, such as no sender, its names are missing and not a mistake: `sender.name or "Shop"`.
fn whole(json: &Json) -> Value {
    if json.is_null() { Value::from(()) } else { value(json, DEPTH) }
}

/// What is null is missing: a name without a value, or an undefined entry of a list.
fn value(json: &Json, depth: usize) -> Value {
    match json {
        Json::Null => Value::UNDEFINED,
        Json::Array(_) | Json::Object(_) if depth == 0 => Value::UNDEFINED,
        Json::Array(entries) => entries.iter().map(|entry| value(entry, depth - 1)).collect(),
        Json::Object(entries) => {
            let there = entries.iter().filter(|(_, entry)| !entry.is_null());
            Value::from_pairs(there.map(|(name, entry)| (name.as_str(), value(entry, depth - 1))))
        }
        Json::Bool(is) => Value::from(*is),
        Json::Number(of) => number(of),
        Json::String(text) => Value::from(text.as_str()),
    }
}

/// Whole numbers of 128 bits to the digit; what is larger or has decimals as a float, as templates calculate.
fn number(of: &Number) -> Value {
    let whole = of.as_i64().map(Value::from).or_else(|| of.as_u64().map(Value::from));
    let large = || of.as_i128().map(Value::from).or_else(|| of.as_u128().map(Value::from));
    whole.or_else(large).or_else(|| of.as_f64().map(Value::from)).unwrap_or_else(|| Value::from(of.as_str()))
}

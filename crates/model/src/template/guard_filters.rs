//! Filters that the guard appends to operands of operators without a bound of their own. Templates cannot name them.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::isolate::without_marks;
use super::work_limit::{spend, spend_value};
use base::text::close_directions;

/// Appended to operands that are read whole. Templates cannot name it, because it is not in `FILTERS`.
pub const COUNTED: &str = "counted";
/// Appended to operands of `==` and `!=`, which are read whole and may be missing.
pub const EQUATED: &str = "equated";
/// Appended to operands of `*`, which would repeat texts and lists.
pub const FACTOR: &str = "factor";
/// Appended to operands of `+`, which would create nested lazy lists that are evaluated at each access.
pub const SUMMAND: &str = "summand";
/// Appended to values that are accessed by index: the characters of a text are counted for it.
pub const INDEXED: &str = "indexed";
/// Appended to text literals of the template, which are not isolated like values.
pub const LITERAL: &str = "literal";
/// Appended to `none`, which counts as missing like `null`.
pub const MISSING: &str = "missing";
/// Suffix that turns `join` and `list` into filters for printing, which isolate each entry.
pub const PRINTED: &str = "_printed";

/// Adds the filters to an environment.
pub fn add_mark_filters(environment: &mut Environment<'_>) {
    environment.add_filter(COUNTED, count_value);
    environment.add_filter(EQUATED, compared_value);
    environment.add_filter(FACTOR, check_factor);
    environment.add_filter(INDEXED, index_text);
    environment.add_filter(LITERAL, literal_text);
    environment.add_filter(MISSING, |_: &Value| Value::UNDEFINED);
    environment.add_filter(SUMMAND, check_summand);
}

/// Also closes directional controls that a text opens, which would reorder the text after it.
fn count_value(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    spend_value(state, value)?;
    Ok(match value.as_str() {
        Some(text) if !text.is_ascii() && !value.is_safe() => Value::from(close_directions(text)),
        None if value.is_none() => Value::UNDEFINED,
        _ => value.clone(),
    })
}

fn compared_value(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let value = count_value(state, value)?;
    Ok(if value.is_undefined() { Value::from(()) } else { value })
}

/// Only this filter creates safe strings, so they identify the template's own text.
fn literal_text(value: &Value) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| Value::from_safe_string(without_marks(text).into_owned()))
}

fn check_factor(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => Ok(value.clone()),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "only numbers can be multiplied")),
    }
}

fn check_summand(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.as_object().is_some() {
        return Err(Error::new(ErrorKind::InvalidOperation, "only texts and numbers can be added"));
    }
    count_value(state, value)
}

fn index_text(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let Some(text) = value.as_str() else { return Ok(value.clone()) };
    spend(state, text.len())?;
    Ok(Value::from_object(GraphemeList(text.to_owned())))
}

/// A text as a sequence of grapheme clusters.
#[derive(Debug)]
struct GraphemeList(String);

impl Object for GraphemeList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, place: &Value) -> Option<Value> {
        let place = place.as_i64()?;
        let from_end = usize::try_from(place.checked_neg()?).ok().and_then(|place| place.checked_sub(1));
        let letter = match (usize::try_from(place), from_end) {
            (Ok(place), _) => self.0.graphemes(true).nth(place),
            (_, Some(place)) => self.0.graphemes(true).nth_back(place),
            _ => None,
        };
        letter.map(Value::from)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

//! Filters that stand behind operands whose operators have no bound of their own. No template can name them.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::inserted::without_marks;
use super::work::{count, spend};
use crate::text::closed;

/// Stands behind operands that are read whole. Nobody else can name it, for it is not in `FILTERS`.
pub const COUNTED: &str = "counted";
/// Stands behind operands of `==` and `!=`, which are read whole and may be missing.
pub const EQUATED: &str = "equated";
/// Stands behind operands of `*`, which would repeat texts and lists.
pub const FACTOR: &str = "factor";
/// Stands behind operands of `+`, which would make lists of lists that are walked through at every look.
pub const SUMMAND: &str = "summand";
/// Stands behind values of which an entry is taken: the characters of a text are counted for it.
pub const INDEXED: &str = "indexed";
/// Stands behind texts that the template writes itself, which are not set apart as values are.
pub const LITERAL: &str = "literal";
/// Stands behind `none`, which is as missing as what is null.
pub const MISSING: &str = "missing";
/// Makes `join` a filter whose result is printed, so that each entry is set apart from the others.
pub const PRINTED: &str = "_printed";

/// Adds them to an environment.
pub fn add(environment: &mut Environment<'_>) {
    environment.add_filter(COUNTED, counted);
    environment.add_filter(EQUATED, equated);
    environment.add_filter(FACTOR, factor);
    environment.add_filter(INDEXED, indexed);
    environment.add_filter(LITERAL, literal);
    environment.add_filter(MISSING, |_: &Value| Value::UNDEFINED);
    environment.add_filter(SUMMAND, summand);
}

/// A text closes what it opens, or it would turn what is put behind it.
fn counted(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    count(state, value)?;
    Ok(match value.as_str() {
        Some(text) if !text.is_ascii() && !value.is_safe() => Value::from(closed(text)),
        None if value.is_none() => Value::UNDEFINED,
        _ => value.clone(),
    })
}

fn equated(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let value = counted(state, value)?;
    Ok(if value.is_undefined() { Value::from(()) } else { value })
}

/// Nothing else makes a safe string, so that it tells what the template wrote.
fn literal(value: &Value) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| Value::from_safe_string(without_marks(text).into_owned()))
}

fn factor(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => Ok(value.clone()),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "only numbers can be multiplied")),
    }
}

fn summand(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.as_object().is_some() {
        return Err(Error::new(ErrorKind::InvalidOperation, "only texts and numbers can be added"));
    }
    counted(state, value)
}

fn indexed(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let Some(text) = value.as_str() else { return Ok(value.clone()) };
    spend(state, text.len())?;
    Ok(Value::from_object(Letters(text.to_owned())))
}

/// What people take for the characters of a text, by their places.
#[derive(Debug)]
struct Letters(String);

impl Object for Letters {
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

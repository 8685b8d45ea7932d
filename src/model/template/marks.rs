//! Filters that stand behind operands whose operators have no bound of their own. No template can name them.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::work::{count, spend};

/// Stands behind operands that are read whole. Nobody else can name it, for it is not in `FILTERS`.
pub const COUNTED: &str = "counted";
/// Stands behind operands of `*`, which would repeat texts and lists.
pub const FACTOR: &str = "factor";
/// Stands behind operands of `+`, which would make lists of lists that are walked through at every look.
pub const SUMMAND: &str = "summand";
/// Stands behind values of which an entry is taken: the characters of a text are counted for it.
pub const INDEXED: &str = "indexed";

/// Adds them to an environment.
pub fn add(environment: &mut Environment<'_>) {
    environment.add_filter(COUNTED, counted);
    environment.add_filter(FACTOR, factor);
    environment.add_filter(INDEXED, indexed);
    environment.add_filter(SUMMAND, summand);
}

fn counted(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    count(state, value)?;
    Ok(value.clone())
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
    spend(state, value.as_str().map_or(0, str::len))?;
    Ok(value.clone())
}

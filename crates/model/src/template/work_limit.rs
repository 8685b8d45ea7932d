//! Limits the work of filters and operators, which the engine's step count does not cover.

use std::borrow::Cow;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

/// Maximum bytes that filters and operators of one rendering may read and write; about a nanosecond each.
///
/// Eight times the longest body. A rendering that exceeds it fails.
pub const WORK: usize = 128 * 1024;

/// Cost of an entry of a list or map besides its bytes.
pub const ENTRY: usize = 32;

/// Maximum nesting of lists and maps that are printed or compared: both recurse.
const DEPTH: usize = 16;

/// The remaining work.
struct RemainingWork(usize);

/// Spends `bytes` of work.
pub fn spend(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    subtract_work(&mut state.get_or_insert_extension(RemainingWork(WORK)).0, bytes)
}

/// Spends the work of reading or writing a value once.
pub fn spend_value(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    spend_nested(value, 0, &mut state.get_or_insert_extension(RemainingWork(WORK)).0)
}

/// A value as text; its work is spent.
pub fn spend_text<'a>(state: &mut State<'_, '_>, value: &'a Value) -> Result<Cow<'a, str>, Error> {
    let text = match value.kind() {
        ValueKind::String => Cow::Borrowed(value.as_str().unwrap_or_default()),
        ValueKind::None => return Err(ErrorKind::UndefinedError.into()),
        ValueKind::Bool | ValueKind::Number => Cow::Owned(value.to_string()),
        // Empty for an `if` without `else`; an error for a missing name.
        ValueKind::Undefined => Cow::Owned(state.format(value.clone())?),
        _ => return Err(ErrorKind::NonPrimitive.into()),
    };
    spend(state, text.len())?;
    Ok(text)
}

/// Whether a value, already counted, is missing or contains a missing one.
pub fn has_missing(value: &Value) -> bool {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => true,
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().is_ok_and(|mut entries| entries.any(|of| has_missing(&of)))
        }
        ValueKind::Map => {
            let is_there = |name: Value| value.get_item(&name).is_ok_and(|of| !has_missing(&of));
            value.try_iter().is_ok_and(|mut names| !names.all(is_there))
        }
        _ => false,
    }
}

fn subtract_work(left: &mut usize, bytes: usize) -> Result<(), Error> {
    let after = left.checked_sub(bytes);
    *left = after.unwrap_or_default();
    after.map(drop).ok_or_else(|| ErrorKind::OutOfFuel.into())
}

fn spend_nested(value: &Value, depth: usize, left: &mut usize) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String => subtract_work(left, value.as_str().map_or(0, str::len)),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            let is_map = value.kind() == ValueKind::Map;
            if depth == DEPTH {
                return Err(Error::new(ErrorKind::InvalidOperation, "lists and maps are nested too deeply"));
            }
            for entry in value.try_iter()? {
                subtract_work(left, ENTRY)?;
                if is_map {
                    spend_nested(&value.get_item(&entry)?, depth + 1, left)?;
                }
                spend_nested(&entry, depth + 1, left)?;
            }
            Ok(())
        }
        // Up to 330 characters.
        ValueKind::Number if !value.is_integer() => subtract_work(left, ENTRY.max(value.to_string().len())),
        _ => subtract_work(left, ENTRY),
    }
}

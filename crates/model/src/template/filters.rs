//! The template engine with the allowed filters and tests only.

use std::borrow::Cow;
use std::sync::LazyLock;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{
    Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value, default_auto_escape_callback,
    escape_formatter, filters, tests,
};
use unicode_segmentation::UnicodeSegmentation;

use super::guard_filters;
use super::isolate::{BEGIN, END, without_marks};
use super::locale_filters::add_locale_filters;
use super::work_limit::{ENTRY, has_missing, spend, spend_text, spend_value};
use base::text::{character_count, close_directions, shorten_text};

/// Maximum steps of one rendering, so that a loop in a template cannot block readers. A usual template takes fifty.
const FUEL: u64 = 10_000;

/// The allowed filters.
pub const FILTERS: [&str; 24] = [
    "abs",
    "capitalize",
    "count",
    "d",
    "date",
    "default",
    "first",
    "float",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "number",
    "plural",
    "replace",
    "round",
    "title",
    "trim",
    "truncate",
    "upper",
    "urlencode",
];

/// The allowed tests.
pub const TESTS: [&str; 17] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "even",
    "false",
    "float",
    "integer",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];

/// Maximum bytes of a text that is parsed as a number or an instant, and of a number that is written.
pub const DIGITS: usize = 64;
/// Maximum decimals when rounding.
const PRECISION: i32 = 15;

/// An environment without templates.
pub fn shared_environment() -> Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(build_environment);
    ENVIRONMENT.clone()
}

/// Printing a missing name fails, because half a sentence would be shown; testing for it is allowed.
fn build_environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_fuel(Some(FUEL));
    environment.set_formatter(print_value);
    environment.set_auto_escape_callback(default_auto_escape_callback);
    guard_filters::add_mark_filters(&mut environment);
    add_filters(&mut environment);
    add_locale_filters(&mut environment);
    add_tests(&mut environment);
    environment
}

fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("abs", filters::abs);
    environment.add_filter("capitalize", capitalize);
    environment.add_filter("count", length);
    environment.add_filter("d", default);
    environment.add_filter("default", default);
    environment.add_filter("first", first);
    environment.add_filter("float", float);
    environment.add_filter("int", int);
    environment.add_filter("items", items);
    environment.add_filter("join", join);
    environment.add_filter(format!("join{}", guard_filters::PRINTED), join_printed);
    environment.add_filter("last", last);
    environment.add_filter("length", length);
    environment
        .add_filter("lower", |state: &mut State<'_, '_>, value: &Value| map_text(state, value, str::to_lowercase));
    environment.add_filter("replace", replace);
    environment.add_filter("round", round);
    environment.add_filter("title", |state: &mut State<'_, '_>, value: &Value| map_text(state, value, title_case));
    environment.add_filter("trim", |state: &mut State<'_, '_>, value: &Value| {
        map_text(state, value, |text| text.trim().into())
    });
    environment.add_filter("truncate", truncate);
    environment
        .add_filter("upper", |state: &mut State<'_, '_>, value: &Value| map_text(state, value, str::to_uppercase));
    environment.add_filter("urlencode", urlencode);
}

fn add_tests(environment: &mut Environment<'_>) {
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("defined", |value: &Value| !is_missing(value));
    environment.add_test("divisibleby", |value: &Value, by: &Value| {
        value.as_i64().zip(by.as_i64()).is_some_and(|(value, by)| value.checked_rem(by) == Some(0))
    });
    environment.add_test("endingwith", |state: &mut State<'_, '_>, value: &Value, end: &Value| {
        Ok::<_, Error>(spend_text(state, value)?.ends_with(&*spend_text(state, end)?))
    });
    environment.add_test("even", tests::is_even);
    environment.add_test("false", tests::is_false);
    environment.add_test("float", tests::is_float);
    environment.add_test("integer", tests::is_integer);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("none", is_missing);
    environment.add_test("number", tests::is_number);
    environment.add_test("odd", tests::is_odd);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("startingwith", |state: &mut State<'_, '_>, value: &Value, start: &Value| {
        Ok::<_, Error>(spend_text(state, value)?.starts_with(&*spend_text(state, start)?))
    });
    environment.add_test("string", tests::is_string);
    environment.add_test("true", tests::is_true);
    environment.add_test("undefined", is_missing);
}

/// `null` counts as missing.
fn is_missing(value: &Value) -> bool {
    value.is_none() || value.is_undefined()
}

/// Prints a value and marks where it begins and ends (`isolate`). The engine prints nested lists and maps recursively.
fn print_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Ok(());
    }
    if value.as_object().is_some() {
        spend_value(state, value)?;
    }
    if has_missing(value) {
        return Err(ErrorKind::UndefinedError.into());
    }
    if value.is_safe() {
        return escape_formatter(out, state, &Value::from(value.as_str().unwrap_or_default()));
    }
    let written = value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed);
    if written.is_empty() {
        return Ok(());
    }
    out.write_str(BEGIN)?;
    escape_formatter(out, state, &Value::from(without_marks(&written)))?;
    Ok(out.write_str(END)?)
}

/// Transforms a text into one at most three times as long; changing letters takes five times as long as copying.
fn map_text(state: &mut State<'_, '_>, value: &Value, change: impl Fn(&str) -> String) -> Result<String, Error> {
    let text = spend_text(state, value)?;
    spend(state, 4 * text.len())?;
    Ok(change(&text))
}

fn capitalize(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    map_text(state, value, |text| {
        let mut rest = text.chars();
        let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &rest.as_str().to_lowercase()
    })
}

fn title_case(text: &str) -> String {
    let mut is_first = true;
    let mut titled = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_whitespace() || "-({[<".contains(letter) {
            is_first = true;
            titled.push(letter);
        } else if std::mem::take(&mut is_first) {
            titled.extend(letter.to_uppercase());
        } else {
            titled.extend(letter.to_lowercase());
        }
    }
    titled
}

fn length(state: &mut State<'_, '_>, value: &Value) -> Result<usize, Error> {
    spend(state, value.as_str().map_or(0, str::len))?;
    filters::length(value)
}

fn default(state: &State<'_, '_>, value: &Value, args: Rest<Value>) -> Result<Value, Error> {
    if value.is_none() {
        filters::default(state, &Value::UNDEFINED, args)
    } else {
        filters::default(state, value, args)
    }
}

fn first(value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) => Ok(text.graphemes(true).next().map_or(Value::UNDEFINED, Value::from)),
        None => filters::first(value),
    }
}

fn last(value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) => Ok(text.graphemes(true).next_back().map_or(Value::UNDEFINED, Value::from)),
        None if value.kind() == ValueKind::Seq => value.get_item(&Value::from(-1)),
        None => Err(Error::new(ErrorKind::InvalidOperation, "has no last entry")),
    }
}

/// The entries of a map as pairs. The engine's own filter would be evaluated again at each access.
fn items(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    if value.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, "has no names"));
    }
    spend(state, value.len().unwrap_or_default().saturating_mul(2 * ENTRY))?;
    value.try_iter()?.map(|name| Ok(Value::from((name.clone(), value.get_item(&name)?)))).collect()
}

/// Joins texts with a separator; for maps, their attribute.
fn join(
    state: &mut State<'_, '_>,
    value: &Value,
    between: Option<&Value>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    join_with(state, value, between, attribute, kwargs, |text| close_directions(text).into_owned())
}

/// Joins for printing: marks each entry as a value, but not the separator.
fn join_printed(
    state: &mut State<'_, '_>,
    value: &Value,
    between: Option<&Value>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let apart = |text: &str| format!("{BEGIN}{}{END}", without_marks(text));
    join_with(state, value, between, attribute, kwargs, apart).map(Value::from_safe_string)
}

#[expect(clippy::needless_pass_by_value, reason = "the engine passes arguments by value")]
fn join_with(
    state: &mut State<'_, '_>,
    value: &Value,
    between: Option<&Value>,
    attribute: Option<&str>,
    kwargs: Kwargs,
    entry_of: impl Fn(&str) -> String,
) -> Result<String, Error> {
    if is_missing(value) {
        return spend_text(state, value).map(Into::into);
    }
    let between = between.cloned().or(kwargs.get("d")?);
    let between = between.map_or(Ok(String::new()), |value| spend_text(state, &value).map(Into::into))?;
    let between = close_directions(&without_marks(&between)).into_owned();
    let attribute = attribute.or(kwargs.get("attribute")?);
    kwargs.assert_all_used()?;
    let mut joined = String::new();
    for (place, entry) in value.try_iter()?.enumerate() {
        spend(state, ENTRY + between.len())?;
        if place > 0 {
            joined.push_str(&between);
        }
        let entry = attribute.map_or(Ok(entry.clone()), |name| entry.get_attr(name))?;
        joined.push_str(&entry_of(&spend_text(state, &entry)?));
    }
    Ok(joined)
}

fn replace(state: &mut State<'_, '_>, value: &Value, from: &Value, to: &Value) -> Result<String, Error> {
    let (value, from, to) = (spend_text(state, value)?, spend_text(state, from)?, spend_text(state, to)?);
    let to = close_directions(&to);
    let many = value.matches(&*from).count();
    spend(state, value.len() + many.saturating_mul(to.len()))?;
    Ok(value.replace(&*from, &to))
}

/// Cuts a text to `length` characters that end with `…` or another given end.
fn truncate(
    state: &mut State<'_, '_>,
    value: &Value,
    length: Option<usize>,
    end: Option<&Value>,
) -> Result<String, Error> {
    let length = length.unwrap_or(255);
    let end = end.map_or(Ok("…".into()), |end| spend_text(state, end))?;
    let text = spend_text(state, value)?;
    spend(state, 4 * text.len().min(length.saturating_mul(4)))?;
    Ok(shorten_text(&text, length, &end, character_count))
}

fn urlencode(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    if is_missing(value) {
        return spend_text(state, value).map(Into::into);
    }
    spend_value(state, value)?;
    spend_value(state, value)?;
    filters::urlencode(value)
}

fn round(value: Value, precision: Option<i32>, method: Option<&str>, kwargs: Kwargs) -> Result<Value, Error> {
    let precision = precision.or(kwargs.get("precision")?).unwrap_or_default();
    if !(0..=PRECISION).contains(&precision) {
        return Err(Error::new(ErrorKind::InvalidOperation, "rounds to too many digits"));
    }
    filters::round(value, Some(precision), method, kwargs)
}

fn int(
    state: &State<'_, '_>,
    value: &Value,
    default: Option<Value>,
    base: Option<u32>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    filters::int(state, check_short(value)?, default, base, kwargs)
}

fn float(state: &State<'_, '_>, value: &Value, default: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    filters::float(state, check_short(value)?, default, kwargs)
}

/// Checks that a value is short enough to be parsed as a number.
fn check_short(value: &Value) -> Result<&Value, Error> {
    if value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    if value.as_str().is_some_and(|text| text.len() > DIGITS) {
        return Err(Error::new(ErrorKind::InvalidOperation, "has too many characters for a number"));
    }
    Ok(value)
}

//! Filters that write numbers, dates and lists in the reader's language.

use std::sync::OnceLock;

use chrono::{DateTime, Datelike, Utc};
use minijinja::value::{Kwargs, Object, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::filters::DIGITS;
use super::guard_filters::PRINTED;
use super::isolate::{BEGIN, END, without_marks};
use super::work_limit::{ENTRY, spend, spend_text};
use crate::reader::ReaderLocale;
use crate::zone::IanaZone;
use base::locale::{DateStyle, LocaleFormats, PLURAL_CATEGORIES};
use base::text::close_directions;

/// The variable that holds the reader. Templates cannot name it.
pub const READER: &str = ".reader";

/// Work of a number or a plural category besides its bytes; about a nanosecond each, as in `work_limit`.
const NUMBER: usize = 512;
/// Work of a date.
const DATE: usize = 2 * 1024;

/// The reader of a rendering. Making a format takes some ten thousand nanoseconds, once in a rendering for each of
/// seven kinds, so this is not counted as work.
#[derive(Debug)]
pub struct TemplateReader {
    formats: LocaleFormats,
    time_zone: String,
    zone: OnceLock<IanaZone>,
}

impl TemplateReader {
    /// The value of [`READER`].
    pub fn value_for(reader: &ReaderLocale) -> Value {
        let formats = LocaleFormats::for_tag(reader.locale());
        Value::from_object(Self { formats, time_zone: reader.time_zone().to_owned(), zone: OnceLock::new() })
    }

    fn zone(&self) -> &IanaZone {
        self.zone.get_or_init(|| IanaZone::find_by_name(&self.time_zone).unwrap_or(IanaZone::UTC))
    }
}

impl Object for TemplateReader {}

/// Adds the filters to an environment.
pub fn add_locale_filters(environment: &mut Environment<'_>) {
    environment.add_filter("date", date);
    environment.add_filter("list", list);
    environment.add_filter(format!("list{PRINTED}"), list_printed);
    environment.add_filter("number", number);
    environment.add_filter("plural", plural);
}

/// Runs `work` with the reader of the rendering.
fn with_reader<T>(state: &State<'_, '_>, work: impl FnOnce(&TemplateReader) -> Option<T>) -> Result<T, Error> {
    let value = state.lookup(READER).unwrap_or_default();
    let reader = value.downcast_object_ref::<TemplateReader>();
    reader.and_then(work).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "cannot be written for the reader"))
}

fn number(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let digits = spend_digits(state, value)?;
    with_reader(state, |reader| reader.formats.format_number(&digits))
}

/// The form of the number's plural category, or else `other`, with the number in place of `#`.
#[expect(clippy::needless_pass_by_value, reason = "the engine passes arguments by value")]
fn plural(state: &mut State<'_, '_>, value: &Value, forms: Kwargs) -> Result<String, Error> {
    let digits = spend_digits(state, value)?;
    let category = with_reader(state, |reader| reader.formats.plural_category(&digits))?;
    let category = if forms.has(category) { category } else { "other" };
    let form: Value = forms.get(category)?;
    for other in PLURAL_CATEGORIES.iter().filter(|other| forms.has(other)) {
        forms.get::<Value>(other)?;
    }
    forms.assert_all_used()?;
    let form = spend_text(state, &form)?;
    let number = with_reader(state, |reader| reader.formats.format_number(&digits))?;
    spend(state, form.matches('#').count().saturating_mul(number.len()))?;
    Ok(form.replace('#', &number))
}

fn date(state: &mut State<'_, '_>, value: &Value, style: Option<&str>) -> Result<String, Error> {
    let style = DateStyle::find_by_name(style.unwrap_or(DateStyle::Medium.name()));
    let style = style.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "is no style of dates"))?;
    spend(state, DATE)?;
    let at = read_instant(state, value)?;
    with_reader(state, |reader| reader.formats.format_date(at.with_timezone(reader.zone()).naive_local(), style))
}

/// Joins texts as a sentence does; for maps, their attribute.
fn list(state: &mut State<'_, '_>, value: &Value, kwargs: Kwargs) -> Result<String, Error> {
    let entries = spend_entries(state, value, kwargs, |text| close_directions(text).into_owned())?;
    with_reader(state, |reader| Some(reader.formats.format_list(&entries, [""; 2])))
}

/// Joins for printing: marks each entry as a value, but not the words between them.
fn list_printed(state: &mut State<'_, '_>, value: &Value, kwargs: Kwargs) -> Result<Value, Error> {
    let entries = spend_entries(state, value, kwargs, |text| without_marks(text).into_owned())?;
    let text = with_reader(state, |reader| Some(reader.formats.format_list(&entries, [BEGIN, END])))?;
    Ok(Value::from_safe_string(text))
}

#[expect(clippy::needless_pass_by_value, reason = "the engine passes arguments by value")]
fn spend_entries(
    state: &mut State<'_, '_>,
    value: &Value,
    kwargs: Kwargs,
    entry_of: impl Fn(&str) -> String,
) -> Result<Vec<String>, Error> {
    let attribute = kwargs.get::<Option<&str>>("attribute")?;
    kwargs.assert_all_used()?;
    if value.is_none() || value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    spend(state, NUMBER)?;
    let mut entries = Vec::new();
    for entry in value.try_iter()? {
        // Room for the word before it.
        spend(state, 2 * ENTRY)?;
        let entry = attribute.map_or(Ok(entry.clone()), |name| entry.get_attr(name))?;
        let text = spend_text(state, &entry)?;
        spend(state, text.len())?;
        entries.push(entry_of(&text));
    }
    Ok(entries)
}

/// A number as decimal digits.
fn spend_digits(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    spend(state, NUMBER)?;
    let digits = match value.kind() {
        ValueKind::Number if value.is_integer() => value.to_string(),
        ValueKind::Number => f64::try_from(value.clone())?.to_string(),
        ValueKind::Undefined | ValueKind::None => return Err(ErrorKind::UndefinedError.into()),
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "is not a number")),
    };
    if digits.len() > DIGITS {
        return Err(Error::new(ErrorKind::InvalidOperation, "has too many digits"));
    }
    Ok(digits)
}

/// An instant: milliseconds since 1970, or a text as in RFC 3339.
fn read_instant(state: &mut State<'_, '_>, value: &Value) -> Result<DateTime<Utc>, Error> {
    let at = match value.kind() {
        ValueKind::Number => value.as_i64().and_then(DateTime::from_timestamp_millis),
        ValueKind::String => {
            let text = spend_text(state, value)?;
            let is_short = text.len() <= DIGITS;
            is_short.then(|| DateTime::parse_from_rfc3339(&text).ok()).flatten().map(|at| at.to_utc())
        }
        ValueKind::Undefined | ValueKind::None => return Err(ErrorKind::UndefinedError.into()),
        _ => None,
    };
    // Far from the ends of what can be converted to a local time.
    let at = at.filter(|at| (0..=10_000).contains(&at.year()));
    at.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "is not an instant"))
}

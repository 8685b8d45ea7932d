//! Validation of input strings.

use std::fmt::Display;
use std::sync::LazyLock;

use reqwest::Url;

use base::error::{Error, Result};
use base::text::is_visible;

/// Maximum characters of an id or code of a user, target, type or action, and of an idempotency key.
pub const CODE_CHARACTERS: usize = 128;
/// Maximum characters of a title or name.
pub const TITLE_CHARACTERS: usize = 256;
/// Maximum bytes of a body, and of `params` and `data` each, as JSON.
pub const BODY_BYTES: usize = 16 * 1024;
/// Maximum characters of a link.
pub const LINK_CHARACTERS: usize = 2048;

/// Validates an id or code: 1 to 128 characters, no control characters, and no white space at either end, because MySQL
/// treats `ada ` and `ada` as equal.
pub fn identifier(field: &str, text: &str) -> Result<()> {
    let characters = text.chars().count();
    if characters == 0 || characters > CODE_CHARACTERS {
        let message = format!("must have 1 to {CODE_CHARACTERS} characters, not {characters}");
        return Err(Error::bad_input(field, message));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::bad_input(field, "must not contain control characters"));
    }
    if text.trim().len() != text.len() {
        return Err(Error::bad_input(field, "must not begin or end with white space"));
    }
    Ok(())
}

/// Validates the form of a BCP 47 language tag.
pub fn language_tag(field: &str, tag: &str) -> Result<()> {
    let is_subtag = |part: &str| (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric());
    if tag.len() > 35 || !tag.split('-').all(is_subtag) {
        return Err(Error::bad_input(field, "must be a language tag such as en or zh-Hans-CN (BCP 47)"));
    }
    Ok(())
}

/// Validates ids or codes; an error names the index: `users[3]`.
pub fn identifiers(field: &str, texts: &[String]) -> Result<()> {
    texts.iter().enumerate().try_for_each(|(place, text)| identifier(&format!("{field}[{place}]"), text))
}

/// Validates one line of text: 1 to 256 characters, at least one visible; no control characters or line breaks.
pub fn title(field: &str, text: &str) -> Result<()> {
    let characters = text.chars().count();
    if text.trim().is_empty() || characters > TITLE_CHARACTERS {
        let message = format!("must have 1 to {TITLE_CHARACTERS} characters, not {characters}");
        return Err(Error::bad_input(field, message));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::bad_input(field, "must not contain control characters"));
    }
    if text.contains(['\u{2028}', '\u{2029}']) {
        return Err(Error::bad_input(field, "must not contain line breaks"));
    }
    visible_text(field, text)
}

/// Validates that a text has a visible character.
pub fn visible_text(field: &str, text: &str) -> Result<()> {
    if is_visible(text) {
        return Ok(());
    }
    Err(Error::bad_input(field, "must have a visible character, not only white space and invisible characters"))
}

/// Validates any text of at most `bytes` bytes without NUL, which PostgreSQL cannot store.
pub fn body(field: &str, text: &str, bytes: usize) -> Result<()> {
    if text.len() > bytes {
        return Err(Error::bad_input(field, format!("must have at most {bytes} bytes, not {}", text.len())));
    }
    if text.contains('\0') {
        return Err(Error::bad_input(field, "must not contain the character NUL"));
    }
    Ok(())
}

/// Validates a link: an http(s) URL, or a path that begins with one slash; nothing that a browser would run or cannot
/// parse.
pub fn link(field: &str, text: &str) -> Result<()> {
    if !has_link_prefix(text) {
        let message = format!("must be an absolute http(s) URL or a path, of at most {LINK_CHARACTERS} characters");
        return Err(Error::bad_input(field, message));
    }
    parse_link(text).map(drop).map_err(|error| Error::bad_input(field, format!("must be a valid URL: {error}")))
}

/// Whether `link` accepts the text.
pub fn is_link(text: &str) -> bool {
    has_link_prefix(text) && parse_link(text).is_ok()
}

fn has_link_prefix(text: &str) -> bool {
    let path = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/\\");
    let url = ["https://", "http://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && text.len() > scheme.len()
    });
    let plain = !text.chars().any(|character| character.is_control() || character.is_whitespace());
    (path || url) && plain && text.chars().count() <= LINK_CHARACTERS
}

/// Parses a link as browsers do, relative to some page.
fn parse_link(text: &str) -> Result<Url, impl Display> {
    static PAGE: LazyLock<Option<Url>> = LazyLock::new(|| Url::parse("https://tidings.invalid").ok());
    Url::options().base_url(PAGE.as_ref()).parse(text)
}

/// Validates an icon: a name of letters, digits, `-`, `_`, `.` and `:`, or an absolute https URL; at most 256
/// characters.
pub fn icon(field: &str, text: &str) -> Result<()> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_.:".contains(character);
    let is_name = !text.is_empty() && text.chars().all(is_part);
    let is_url = text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://")) && is_link(text);
    if (is_name || is_url) && text.chars().count() <= TITLE_CHARACTERS {
        return Ok(());
    }
    let message = "must be a name (letters, digits, -, _, . and :) or an absolute https URL, of at most 256 characters";
    Err(Error::bad_input(field, message))
}

/// Fails if a call has more than `most` of something.
pub fn at_most(field: &str, count: usize, most: usize) -> Result<()> {
    if count > most {
        return Err(Error::bad_input(field, format!("must have at most {most} entries in one call, not {count}")));
    }
    Ok(())
}

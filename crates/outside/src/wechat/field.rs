//! Fits values into template fields. The field's kind is the prefix of its name.

use base::text::{character_count, close_directions, is_visible, shorten_text};

/// The limits of a kind of field.
struct FieldLimits {
    kind: &'static str,
    characters: usize,
    /// Appended to a cut value; empty if the kind has no such sign.
    mark: &'static str,
    /// Placeholder for an empty value, which WeChat rejects.
    nothing: &'static str,
}

const fn field_limits(kind: &'static str, characters: usize, mark: &'static str, nothing: &'static str) -> FieldLimits {
    FieldLimits { kind, characters, mark, nothing }
}

/// The kinds of field with values that may be cut.
///
/// Numbers, amounts, times, phone numbers and number plates are not cut, because a part of one is another value. They
/// are sent as they are; if one does not fit, WeChat's error names the field.
const KINDS: [FieldLimits; 7] = [
    field_limits("thing", 20, "…", "-"),
    field_limits("const", 20, "…", "-"),
    field_limits("name", 10, "…", "-"),
    // Only Chinese characters.
    field_limits("phrase", 5, "", "无"),
    // ASCII digits, letters and signs.
    field_limits("character_string", 32, "...", "-"),
    field_limits("letter", 32, "", "-"),
    field_limits("symbol", 5, "", "-"),
];

/// Fits a value into a field: one line, not empty, and not longer than its kind allows.
pub fn fit_value(name: &str, value: &str) -> String {
    let line = value.split(|of: char| of.is_whitespace() || of.is_control()).filter(|part| !part.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let kind = name.trim_end_matches(|of: char| of.is_ascii_digit());
    let holds = KINDS.iter().find(|of| of.kind == kind);
    if !is_visible(&line) {
        return holds.map_or("-", |of| of.nothing).to_owned();
    }
    let line = close_directions(&line).into_owned();
    let Some(holds) = holds else { return line };
    // A name in Latin letters may be twice as long.
    let many = if kind == "name" && line.is_ascii() { 2 * holds.characters } else { holds.characters };
    let fitting = shorten_text(&line, many, holds.mark, character_count);
    // Empty if the first grapheme is longer than the kind allows and there is no mark.
    if fitting.is_empty() { holds.nothing.to_owned() } else { fitting }
}

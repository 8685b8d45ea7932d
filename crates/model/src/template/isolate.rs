//! Isolates inserted values from the surrounding text, so that right-to-left characters in a value do not reorder its
//! line.
//!
//! During rendering, marks surround each value. Afterwards they become Unicode isolates (FSI and PDI) if the text has
//! right-to-left characters, and are removed otherwise.

use std::borrow::Cow;

use super::source::TextFormat;
use base::text::{DirectionStack, close_directions, has_reordering, is_paragraph_end, normalize_lines, one_line};

/// Mark the beginning and end of a value: noncharacters, which have no meaning in texts (Unicode, section 23.7).
pub const BEGIN: &str = "\u{FDD0}";
pub const END: &str = "\u{FDD1}";

const MARKS: [char; 2] = ['\u{FDD0}', '\u{FDD1}'];
const ISOLATE: char = '\u{2068}';
const POP_ISOLATE: char = '\u{2069}';

/// Replaces characters that could be mistaken for marks.
pub fn without_marks(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(MARKS) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(MARKS, "\u{FFFD}"))
}

/// Bytes of the marks in a text.
pub fn mark_bytes(text: &[u8]) -> usize {
    let is_mark = |three: &[u8]| three == BEGIN.as_bytes() || three == END.as_bytes();
    if text.contains(&BEGIN.as_bytes()[0]) { 3 * text.windows(3).filter(|three| is_mark(three)).count() } else { 0 }
}

/// Makes the final text of one with marks.
pub fn finish_text(text: &str, form: TextFormat) -> String {
    let text = match form {
        TextFormat::Line => one_line(text),
        TextFormat::Lines => normalize_lines(text),
        TextFormat::Html | TextFormat::Link => Cow::Borrowed(text),
    };
    if form == TextFormat::Link || !has_reordering(&text) {
        return text.replace(MARKS, "");
    }
    if let Some(value) = only_value(text.trim()) {
        return close_directions(value).into_owned();
    }
    let mut writer = IsolatingWriter { text: String::with_capacity(text.len() * 2), ..IsolatingWriter::new(form) };
    for (place, part) in text.split(MARKS).enumerate() {
        // Marks come in pairs and are not nested.
        if place % 2 == 0 { writer.write_text(part) } else { writer.write_value(part) }
    }
    writer.closing.close_all(&mut writer.text);
    writer.text
}

/// The value if it is the whole text.
fn only_value(text: &str) -> Option<&str> {
    let value = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
    (!value.contains(MARKS)).then_some(value)
}

/// The syntactic position in the template's HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HtmlContext {
    Text,
    Tag,
    /// In an attribute's value with these quotes.
    Quoted(char),
    Comment,
}

struct IsolatingWriter {
    text: String,
    form: TextFormat,
    /// Directional controls that the template's own text has opened.
    closing: DirectionStack,
    place: HtmlContext,
    /// Whether the text ends within a URL; no isolate may be inserted there.
    is_in_url: bool,
}

impl IsolatingWriter {
    fn new(form: TextFormat) -> Self {
        Self {
            text: String::new(),
            form,
            closing: DirectionStack::default(),
            place: HtmlContext::Text,
            is_in_url: false,
        }
    }

    /// Writes the template's own text.
    fn write_text(&mut self, part: &str) {
        for (at, character) in part.char_indices() {
            if is_paragraph_end(character) {
                self.closing.close_all(&mut self.text);
            }
            if self.form == TextFormat::Html {
                self.place = self.place.next_context(character, &part[at..], &self.text);
            }
            if self.closing.accept_character(character) {
                self.text.push(character);
            }
            self.is_in_url = !character.is_whitespace() && (self.is_in_url || self.text.ends_with("://"));
        }
    }

    /// Writes a value; each of its lines gets an isolate.
    fn write_value(&mut self, value: &str) {
        if self.place != HtmlContext::Text {
            return self.text.push_str(value);
        }
        let value = close_directions(value);
        let is_url = ["https://", "http://"].iter().any(|scheme| value.starts_with(scheme))
            && !value.contains(char::is_whitespace)
            && !has_reordering(&value);
        if is_url || (self.is_in_url && !value.contains(char::is_whitespace)) {
            self.is_in_url = true;
            return self.text.push_str(&value);
        }
        self.is_in_url = false;
        for line in value.split_inclusive(is_paragraph_end) {
            let words = line.trim_end_matches(is_paragraph_end);
            if !words.is_empty() {
                self.text.push(ISOLATE);
                self.text.push_str(words);
                self.text.push(POP_ISOLATE);
            }
            self.text.push_str(&line[words.len()..]);
        }
    }
}

impl HtmlContext {
    /// The position after a character: `rest` begins with it, and `before` is the text written so far.
    fn next_context(self, character: char, rest: &str, before: &str) -> Self {
        match (self, character) {
            (Self::Text, '<') if rest.starts_with("<!--") => Self::Comment,
            (Self::Text, '<')
                if rest[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!".contains(next)) =>
            {
                Self::Tag
            }
            (Self::Tag, '"' | '\'') if before.trim_end().ends_with('=') => Self::Quoted(character),
            (Self::Tag, '>') => Self::Text,
            (Self::Comment, '>') if before.ends_with("--") => Self::Text,
            (Self::Quoted(quote), _) if character == quote => Self::Tag,
            _ => self,
        }
    }
}

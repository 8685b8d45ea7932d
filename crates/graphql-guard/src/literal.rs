//! String literals that the parser reads differently from the specification
//! (<https://spec.graphql.org/September2025/#sec-String-Value>).
//!
//! The newest version of the parser, 8.0.0-rc.5, rejects `\u{1F600}` and `\ud83d\ude00`, keeps `\"""` in a block string
//! unchanged, and does not remove common indentation from short lines. So this module parses such literals itself. In
//! the parsed text, a placeholder with the same number of lines and columns replaces each literal, and its value is
//! inserted into the parsed document. This keeps the positions of errors correct without a fork of the parser.

use std::ops::Range;
use std::str::Chars;

use async_graphql::parser::types::{Directive, DocumentOperations, ExecutableDocument, Selection, SelectionSet};
use async_graphql::parser::{self, parse_query};
use async_graphql::{Name, Pos, Positioned};
use async_graphql_value::{ConstValue, Value};

use crate::DocumentRefusal;

/// The first of a range of private-use characters. There are more of them than a document can have literals.
const PRIVATE: u32 = 0x10_0000;

/// The delimiter of a block string.
const BLOCK: &str = "\"\"\"";

/// Parses a document, with special treatment of the literals at `places`.
pub fn parse_document(text: &str, places: &[Range<usize>]) -> Result<ExecutableDocument, DocumentRefusal> {
    if places.is_empty() {
        return parse_query(text).map_err(syntax_refusal);
    }
    let values = places.iter().map(|place| literal_value(text, place)).collect::<Result<_, _>>()?;
    let literals = HiddenLiterals { mark: unused_character(text), values };
    let mut document = parse_query(literals.hide_literals(text, places)).map_err(syntax_refusal)?;
    literals.restore_document(&mut document);
    Ok(document)
}

fn syntax_refusal(error: parser::Error) -> DocumentRefusal {
    match error {
        // The last line says what was expected. The lines before quote the document.
        parser::Error::Syntax { message, start, .. } => {
            let expected = message.rsplit_once("= ").map(|(_, expected)| expected.trim());
            DocumentRefusal::syntax(
                expected.filter(|text| text.starts_with("expected")).unwrap_or_default(),
                Some(start),
            )
        }
        other => DocumentRefusal::invalid(other.to_string(), other.positions().next()),
    }
}

/// A character that does not occur in the text.
fn unused_character(text: &str) -> char {
    let mut private = (0xE000..=0xF8FF).filter_map(char::from_u32);
    private.find(|mark| !text.contains(*mark)).unwrap_or('\u{10FFFF}')
}

/// The values of literals, in document order.
struct HiddenLiterals {
    /// The first character of each placeholder.
    mark: char,
    values: Vec<String>,
}

impl HiddenLiterals {
    /// Replaces each literal by a placeholder of the same lines and columns.
    fn hide_literals(&self, text: &str, places: &[Range<usize>]) -> String {
        let mut hidden = String::with_capacity(text.len());
        let mut at = 0;
        for (number, place) in (PRIVATE..).zip(places) {
            hidden.push_str(&text[at..place.start]);
            let placeholder = ['"', self.mark, char::from_u32(number).unwrap_or(self.mark), '"'];
            hidden.extend(placeholder);
            let literal = &text[place.clone()];
            let last = literal.rfind(['\n', '\r']).map_or(0, |end| end + 1);
            hidden.extend(literal[..last].chars().filter(|character| matches!(character, '\n' | '\r')));
            let columns = literal[last..].chars().count();
            let written = if last == 0 { placeholder.len() } else { 0 };
            hidden.extend(std::iter::repeat_n(' ', columns.saturating_sub(written)));
            at = place.end;
        }
        hidden.push_str(&text[at..]);
        hidden
    }

    fn restore_document(&self, document: &mut ExecutableDocument) {
        let operations = match &mut document.operations {
            DocumentOperations::Single(operation) => vec![operation],
            DocumentOperations::Multiple(operations) => operations.values_mut().collect(),
        };
        for operation in operations {
            for definition in &mut operation.node.variable_definitions {
                self.restore_directives(&mut definition.node.directives);
                if let Some(value) = &mut definition.node.default_value {
                    self.restore_constant(&mut value.node);
                }
            }
            self.restore_directives(&mut operation.node.directives);
            self.restore_selection(&mut operation.node.selection_set.node);
        }
        for fragment in document.fragments.values_mut() {
            self.restore_directives(&mut fragment.node.directives);
            self.restore_selection(&mut fragment.node.selection_set.node);
        }
    }

    fn restore_selection(&self, set: &mut SelectionSet) {
        for selection in &mut set.items {
            self.restore_directives(selection.node.directives_mut());
            match &mut selection.node {
                Selection::Field(field) => {
                    self.restore_arguments(&mut field.node.arguments);
                    self.restore_selection(&mut field.node.selection_set.node);
                }
                Selection::InlineFragment(fragment) => self.restore_selection(&mut fragment.node.selection_set.node),
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn restore_directives(&self, directives: &mut [Positioned<Directive>]) {
        for directive in directives {
            self.restore_arguments(&mut directive.node.arguments);
        }
    }

    fn restore_arguments(&self, arguments: &mut [(Positioned<Name>, Positioned<Value>)]) {
        for (_, value) in arguments {
            self.restore_value(&mut value.node);
        }
    }

    fn restore_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.restore_text(text),
            Value::List(entries) => entries.iter_mut().for_each(|entry| self.restore_value(entry)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.restore_value(field)),
            _ => {}
        }
    }

    fn restore_constant(&self, value: &mut ConstValue) {
        match value {
            ConstValue::String(text) => self.restore_text(text),
            ConstValue::List(entries) => entries.iter_mut().for_each(|entry| self.restore_constant(entry)),
            ConstValue::Object(fields) => fields.values_mut().for_each(|field| self.restore_constant(field)),
            _ => {}
        }
    }

    fn restore_text(&self, text: &mut String) {
        let number = text.strip_prefix(self.mark).and_then(|rest| rest.chars().next());
        let place = number.and_then(|number| usize::try_from(u32::from(number).checked_sub(PRIVATE)?).ok());
        if let Some(value) = place.and_then(|place| self.values.get(place)) {
            text.clone_from(value);
        }
    }
}

/// The value of a literal.
fn literal_value(text: &str, place: &Range<usize>) -> Result<String, DocumentRefusal> {
    let literal = &text[place.clone()];
    match literal.strip_prefix(BLOCK).and_then(|rest| rest.strip_suffix(BLOCK)) {
        Some(raw) => Ok(strip_block_indent(&raw.replace("\\\"\"\"", BLOCK))),
        None => unescape_text(&literal[1..literal.len() - 1]).map_err(|InvalidEscape { left, hint }| {
            DocumentRefusal::syntax(hint, Some(end_position(&text[..place.end - 1 - left])))
        }),
    }
}

/// The position of a text's end, counted as the parser does.
fn end_position(text: &str) -> Pos {
    let line = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let last = text.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    Pos { line, column: text[last..].chars().count() + 1 }
}

/// Removes the indentation common to all lines but the first, and blank lines at both ends
/// (<https://spec.graphql.org/September2025/#BlockStringValue()>).
fn strip_block_indent(raw: &str) -> String {
    let blank = [' ', '\t'];
    let lines = raw.split("\r\n").flat_map(|line| line.split(['\n', '\r']));
    let mut lines: Vec<&str> = lines.collect();
    let indents = lines.iter().skip(1).filter_map(|line| line.find(|character| !blank.contains(&character)));
    let indent = indents.min().unwrap_or_default();
    for line in lines.iter_mut().skip(1) {
        *line = line.get(indent..).unwrap_or_default();
    }
    let has_words = |line: &&str| !line.trim_matches(blank).is_empty();
    let first = lines.iter().position(has_words).unwrap_or(lines.len());
    let end = lines.iter().rposition(has_words).map_or(first, |last| last + 1);
    lines[first..end].join("\n")
}

/// An invalid escape, and the number of bytes from it to the end.
struct InvalidEscape {
    left: usize,
    hint: &'static str,
}

fn unescape_text(raw: &str) -> Result<String, InvalidEscape> {
    let mut said = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    loop {
        let left = rest.as_str().len();
        match rest.next() {
            Some('\\') => said.push(read_escape(&mut rest).map_err(|hint| InvalidEscape { left, hint })?),
            Some(other) => said.push(other),
            None => return Ok(said),
        }
    }
}

/// The character of the escape after a backslash.
fn read_escape(rest: &mut Chars<'_>) -> Result<char, &'static str> {
    Ok(match rest.next() {
        Some(same @ ('"' | '\\' | '/')) => same,
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return read_unicode_escape(rest),
        _ => return Err("a backslash must be followed by one of \" \\ / b f n r t u"),
    })
}

/// The character of an escape after `\u`: in braces, as four digits, or as two surrogates of four digits each.
fn read_unicode_escape(rest: &mut Chars<'_>) -> Result<char, &'static str> {
    let none = "\\u{…} must be a code point up to 10FFFF, and not half a surrogate pair (D800 to DFFF)";
    let half = "half a surrogate pair: \\uD800 to \\uDBFF must be followed by \\uDC00 to \\uDFFF";
    if let Some(braced) = rest.as_str().strip_prefix('{') {
        let (digits, after) = braced.split_once('}').ok_or(none)?;
        *rest = after.chars();
        return parse_hexadecimal(digits).and_then(char::from_u32).ok_or(none);
    }
    let digits = "\\u must be followed by four hexadecimal digits, or by a code point in braces";
    let first = read_four_digits(rest).ok_or(digits)?;
    let code = match first {
        0xD800..=0xDBFF => {
            let mut behind = rest.as_str().strip_prefix("\\u").ok_or(half)?.chars();
            let second =
                read_four_digits(&mut behind).filter(|second| (0xDC00..=0xDFFF).contains(second)).ok_or(half)?;
            *rest = behind;
            0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        }
        other => other,
    };
    char::from_u32(code).ok_or(half)
}

fn read_four_digits(rest: &mut Chars<'_>) -> Option<u32> {
    let digits = rest.as_str().get(..4)?;
    *rest = rest.as_str()[4..].chars();
    parse_hexadecimal(digits)
}

fn parse_hexadecimal(digits: &str) -> Option<u32> {
    let is_right = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = digits.trim_start_matches('0');
    is_right.then(|| if digits.is_empty() { Ok(0) } else { u32::from_str_radix(digits, 16) })?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::scan_document;

    fn argument(literal: &str) -> Result<String, String> {
        let text = format!("{{ a(b: {literal}) }}");
        let found = scan_document(&text).ok_or("it does not end")?;
        let document = parse_document(&text, &found.literals)
            .map_err(|refusal| refusal.into_response().errors[0].message.clone())?;
        let DocumentOperations::Single(operation) = document.operations else { panic!("it has one operation") };
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { panic!("a field") };
        let Value::String(text) = &field.node.arguments[0].1.node else { panic!("a string") };
        Ok(text.clone())
    }

    #[test]
    fn strings_say_what_the_specification_reads() {
        for (literal, is) in [
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\uD83D\uDE00!""#, "😀!"),
            (r#""\u{1F600}""#, "😀"),
            (r#""\u{00000000041}\u{0}\u0042""#, "A\0B"),
            (r#""\u{22}\u{5c}\u{A}\n\/\b\f\r\t\"\\""#, "\"\\\n\n/\u{8}\u{c}\r\t\"\\"),
            (r#""\\u{41}""#, "\\u{41}"),
            (r#""é 日 \u00e9""#, "é 日 é"),
            (r#""""#, ""),
            (r#""""""""#, ""),
            (r#""""a \""" b""""#, "a \"\"\" b"),
            (r#""""\"""""""#, "\"\"\""),
            ("\"\"\"\"a\" \\u{41} \\n\"\"\"", "\"a\" \\u{41} \\n"),
            ("\"\"\"\n    a\n  \n      b\n\n    c\n  \"\"\"", "a\n\n  b\n\nc"),
            ("\"\"\"  a\r\n\t\tb\r\t  c\"\"\"", "  a\nb\n c"),
        ] {
            assert_eq!(argument(literal).as_deref(), Ok(is), "{literal}");
        }
    }

    #[test]
    fn what_is_no_character_is_named_with_its_place() {
        for (literal, column, word) in [
            (r#""ab\ud83d""#, 11, "half a surrogate pair: "),
            (r#""\ud83d\u0041""#, 9, "half a surrogate pair: "),
            (r#""\ude00\ud83d""#, 9, "half a surrogate pair: "),
            (r#""\ud83d\u{de00}""#, 9, "half a surrogate pair: "),
            (r#""é\u{d83d}\u{de00}""#, 10, "not half a surrogate pair"),
            (r#""\u{110000}""#, 9, "10FFFF"),
            (r#""\u{fffffffffff}""#, 9, "10FFFF"),
            (r#""\u{}""#, 9, "10FFFF"),
            (r#""\u{+41}""#, 9, "10FFFF"),
            (r#""\u{41""#, 9, "10FFFF"),
            (r#""\u00+1""#, 9, "four hexadecimal digits"),
            (r#""\u00é""#, 9, "four hexadecimal digits"),
            (r#""\u0041\x""#, 15, "a backslash must be followed"),
        ] {
            let refused = argument(literal).unwrap_err();
            let place = format!("line 1, column {column}: ");
            assert!(refused.contains(&place) && refused.contains(word), "{literal}: {refused}");
        }
    }

    #[test]
    fn what_stands_behind_a_literal_keeps_its_place() {
        for literal in [r#""\u{1F600}""#, "\"\"\"é\n \\\"\"\"\r\n  b\"\"\"", r#""""""""#, r#""\u0041""#] {
            let text = format!("{{ a(b: {literal} c: 1) }}");
            let document = parse_document(&text, &scan_document(&text).unwrap().literals).unwrap();
            let DocumentOperations::Single(operation) = document.operations else { panic!("it has one operation") };
            let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { panic!("a field") };
            let behind = text.rfind("c: 1").unwrap();
            assert_eq!(field.node.arguments[1].0.pos, end_position(&text[..behind]), "{literal}");
        }
    }

    #[test]
    fn literals_are_read_wherever_they_stand() {
        let text = r#"query Q($a: [S] @d(x: "\u{62}") = ["\u{61}", {b: """\""""""}]) @d(x: ["\u{63}"]) {
            f(x: {y: ["\u{64}"]}) @d(x: "\u{65}") { ...F @d(x: "\u{66}") ... @d(x: "\u{67}") { g(x: "\u{68}") } }
        }
        fragment F on T @d(x: "\u{69}") { h(x: "\u{6A}") }"#;
        let found = scan_document(text).unwrap();
        assert_eq!(found.literals.len(), 11);
        let read = format!("{:?}", parse_document(text, &found.literals).unwrap());
        for letter in 'a'..='j' {
            assert!(read.contains(&format!("String(\"{letter}\")")), "{letter}: {read}");
        }
        assert!(read.contains(r#"String("\"\"\"")"#), "{read}");
        assert!(!read.contains('\u{E000}'));
    }
}

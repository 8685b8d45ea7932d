//! A scan of a document's text before any recursive code parses it.

use std::ops::Range;

/// Properties of a document's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextScan {
    /// The deepest nesting of round, square and curly brackets.
    pub nesting: usize,
    /// Names, numbers, strings and punctuation.
    pub tokens: usize,
    /// The strings that the parser reads differently from the specification: block strings, and those with `\u`.
    pub literals: Vec<Range<usize>>,
}

/// Counts brackets and tokens outside of strings and comments. `None` if a string is not terminated.
///
/// The parser recurses for every opening bracket, so 3 KB of brackets would overflow the stack and end the process. An
/// unterminated string must not reach it: it would read `"""` as an empty string and a quote, and the brackets after it
/// as brackets.
pub fn scan_document(text: &str) -> Option<TextScan> {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut found) = (0, 0_usize, TextScan::default());
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'#' => rest.iter().position(|&byte| byte == b'\n' || byte == b'\r').unwrap_or(rest.len()),
            b' ' | b'\t' | b'\n' | b'\r' | b',' => 1,
            b'"' => {
                found.tokens += 1;
                let is_block = rest.starts_with(b"\"\"\"");
                let bytes = if is_block { block_string_length(rest)? } else { string_length(rest)? };
                if is_block || rest[..bytes].windows(2).any(|pair| pair == b"\\u") {
                    found.literals.push(at..at + bytes);
                }
                bytes
            }
            b'(' | b'[' | b'{' => {
                open += 1;
                found.nesting = found.nesting.max(open);
                found.tokens += 1;
                1
            }
            b')' | b']' | b'}' => {
                open = open.saturating_sub(1);
                found.tokens += 1;
                1
            }
            byte if is_word(byte) => {
                found.tokens += 1;
                rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len())
            }
            _ => {
                found.tokens += 1;
                1
            }
        };
    }
    Some(found)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The length of a block string in bytes. Within it, `\"""` is an escaped delimiter.
fn block_string_length(text: &[u8]) -> Option<usize> {
    let mut at = 3;
    loop {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        if rest.starts_with(b"\"\"\"") {
            return Some(at + 3);
        }
        at += if rest.starts_with(b"\\\"\"\"") { 4 } else { 1 };
    }
}

/// The length of a string in bytes. `None` if it does not end in the line where it begins.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scan_document;

    #[test]
    fn brackets_count_outside_of_strings_and_comments_only() {
        for (text, nesting, tokens) in [
            ("{ a(b: [1, {c: 2}]) }", 4, 15),
            ("{ a } # {{{{\n{ b }", 1, 6),
            (r#"{ a(b: "[[[\"[[", c: """ {{ "" \""" {{{ """) }"#, 2, 11),
            ("", 0, 0),
            ("}}}{", 1, 4),
        ] {
            let found = scan_document(text).unwrap();
            assert_eq!((found.nesting, found.tokens), (nesting, tokens), "{text}");
        }
    }

    #[test]
    fn a_string_that_does_not_end_is_no_document() {
        for text in [r#"{ a(b: ["""x"[[[[[[[[ "#, "{ a(b: \"x\n\") }", "{ a(b: \"x\\"] {
            assert_eq!(scan_document(text), None, "{text}");
        }
    }
}

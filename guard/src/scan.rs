//! A first look at a document's text, before anything recursive touches it.

use std::ops::Range;

/// What a document's text is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The deepest nesting of round, square and curly brackets.
    pub nesting: usize,
    /// Names, numbers, strings and punctuation.
    pub tokens: usize,
    /// Where the strings are that the parser reads otherwise than the specification: block strings, and those with `\u`.
    pub literals: Vec<Range<usize>>,
}

/// Counts brackets and tokens outside of strings and comments; nothing where a string does not end.
///
/// The parser calls itself for every bracket that opens, so that 3 KB of them end the process. A string that does not
/// end must not get to it: it would take `"""` for an empty string and a quote, and brackets behind them for brackets.
pub fn scan(text: &str) -> Option<Scan> {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut found) = (0, 0_usize, Scan::default());
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'#' => rest.iter().position(|&byte| byte == b'\n' || byte == b'\r').unwrap_or(rest.len()),
            b' ' | b'\t' | b'\n' | b'\r' | b',' => 1,
            b'"' => {
                found.tokens += 1;
                let is_block = rest.starts_with(b"\"\"\"");
                let bytes = if is_block { block_string(rest)? } else { string(rest)? };
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

/// The bytes of a block string, whose end may be written `\"""` within it.
fn block_string(text: &[u8]) -> Option<usize> {
    let mut at = 3;
    loop {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        if rest.starts_with(b"\"\"\"") {
            return Some(at + 3);
        }
        at += if rest.starts_with(b"\\\"\"\"") { 4 } else { 1 };
    }
}

/// The bytes of a string, which ends in the line where it began.
fn string(text: &[u8]) -> Option<usize> {
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
    use super::scan;

    #[test]
    fn brackets_count_outside_of_strings_and_comments_only() {
        for (text, nesting, tokens) in [
            ("{ a(b: [1, {c: 2}]) }", 4, 15),
            ("{ a } # {{{{\n{ b }", 1, 6),
            (r#"{ a(b: "[[[\"[[", c: """ {{ "" \""" {{{ """) }"#, 2, 11),
            ("", 0, 0),
            ("}}}{", 1, 4),
        ] {
            let found = scan(text).unwrap();
            assert_eq!((found.nesting, found.tokens), (nesting, tokens), "{text}");
        }
    }

    #[test]
    fn a_string_that_does_not_end_is_no_document() {
        for text in [r#"{ a(b: ["""x"[[[[[[[[ "#, "{ a(b: \"x\n\") }", "{ a(b: \"x\\"] {
            assert_eq!(scan(text), None, "{text}");
        }
    }
}

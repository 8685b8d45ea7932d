//! Parses JSON from clients, and locates errors in it.

use serde::de::DeserializeOwned;
use serde_json::Value;

use base::error::{Error, Result};
use base::json::has_reserved_key;

/// A byte order mark, which some programs write. A parser may ignore it (RFC 8259, section 8.1).
const MARK: &str = "\u{feff}";

/// The most characters of the path to an error.
const PATH: usize = 200;

/// The most characters of an error's description, which may repeat the input.
const WHAT: usize = 200;

/// Parses a text. Errors give path, line and column.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let text = text.strip_prefix(MARK.as_bytes()).unwrap_or(text);
    if has_reserved_key(text) {
        return Err(Error::bad_input("", "the body has a key with the reserved prefix $serde_json::private::"));
    }
    serde_json::from_slice(text).map_err(|error| parse_error(text, &error))
}

/// The error for an invalid text.
fn parse_error(text: &[u8], error: &serde_json::Error) -> Error {
    let told = error.to_string();
    let what = told.rsplit_once(" at line ").map_or(&*told, |(what, _)| what);
    let what = if what.contains("surrogate") || what.contains("hex escape") {
        "half a surrogate pair, or an invalid escape: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff"
    } else {
        what
    };
    let before = text.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = &before[..error.column().min(before.len())];
    let (line, column) = (error.line(), String::from_utf8_lossy(before).chars().count());
    let field = error_path(text);
    let subject = if field.is_empty() { "the body " } else { "" };
    let kind = if error.is_data() { "has an invalid value" } else { "is not valid JSON" };
    let what: String = what.chars().take(WHAT).collect();
    Error::bad_input(field, format!("{subject}{kind} at line {line}, column {column}: {what}"))
}

/// The path to an error. Parses the text a second time, so that valid requests do not pay for tracking paths.
fn error_path(text: &[u8]) -> String {
    let read = serde_path_to_error::deserialize::<_, Value>(&mut serde_json::Deserializer::from_slice(text));
    let path = read.err().map(|error| error.path().to_string()).unwrap_or_default();
    // For an error between two keys, the step after the last known key has no name.
    path.trim_end_matches(['.', '?']).chars().take(PATH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> (String, String) {
        match parse_json::<Value>(text) {
            Err(Error::BadInput { field, message }) => (field, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_path_line_and_column() {
        for (text, path, place, word) in [
            (
                r#"{"variables":{"input":{"title":"hi \ud83d"}}}"#,
                "variables.input.title",
                "line 1, column 42",
                "half a",
            ),
            (r#"{"variables":{"all":["é",{"a":"\udc00"}]}}"#, "variables.all[1].a", "line 1", "half a"),
            ("{\n  \"query\": \"x\",\n  \"variables\": {\"n\": 01}\n}", "variables.n", "line 3", "number"),
            ("{\"query\": \"a\nb\"}", "query", "line", "control character"),
            ("{\"query\": \"x\",}", "", "line 1, column 15", "trailing comma"),
            ("", "", "line 1, column 0", "EOF"),
            ("{} {}", "", "line 1, column 4", "trailing characters"),
        ] {
            let (field, message) = refused(text.as_bytes());
            assert!(message.contains(place) && message.contains(word), "{text}: {message}");
            assert_eq!(field, path, "{text}");
        }
        assert_eq!(refused(b"{\"query\":\"\xff\"}").0, "query");
        let deep = format!("{{\"variables\":{}", "[".repeat(5_000));
        let (field, message) = refused(deep.as_bytes());
        assert!(field.len() <= PATH && message.contains("recursion"), "{field}: {message}");
    }

    #[test]
    fn what_would_be_read_within_a_text_is_refused_however_deep() {
        let mut text = "1".to_owned();
        for _ in 0..12 {
            let within = serde_json::to_string(&text).unwrap();
            let (open, close) = ("[".repeat(120), "]".repeat(120));
            text = format!(r#"{open}{{"$serde_json::private::RawValue":{within}}}{close}"#);
        }
        let (field, message) = refused(format!(r#"{{"variables":{{"data":{text}}}}}"#).as_bytes());
        assert!(field.is_empty() && message.contains("reserved"), "{message}");
    }

    #[test]
    fn a_mark_of_its_order_of_bytes_says_nothing() {
        assert_eq!(parse_json::<Value>("\u{feff}{\"a\":1}".as_bytes()).unwrap()["a"], 1);
        assert!(parse_json::<Value>("\u{feff}\u{feff}{}".as_bytes()).is_err());
    }
}

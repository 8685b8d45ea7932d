//! Checks JSON from outside before it is parsed.

/// `serde_json` gives objects that begin with such a key a meaning of its own. It parses the text behind `RawValue`
/// with a new depth limit, so 7 KB can overflow the stack.
const RESERVED: &[u8] = b"$serde_json::private::";

/// Whether a text contains a string, such as a key, with this prefix. Such a text must not be parsed.
pub fn has_reserved_key(text: &[u8]) -> bool {
    let mut is_escaped = false;
    text.iter().enumerate().any(|(place, byte)| {
        let is_quote = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_quote && has_reserved_prefix(&text[place + 1..])
    })
}

/// Whether a string begins with the prefix. Any of its characters may be escaped.
fn has_reserved_prefix(mut text: &[u8]) -> bool {
    RESERVED.iter().all(|expected| {
        let (byte, rest) = match text {
            [b'\\', b'u', b'0', b'0', high, low, rest @ ..] => (parse_hex_byte(*high, *low), rest),
            [byte, rest @ ..] => (Some(*byte), rest),
            [] => (None, text),
        };
        text = rest;
        byte == Some(*expected)
    })
}

fn parse_hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::has_reserved_key;

    #[test]
    fn a_reserved_key_is_found_however_it_is_escaped() {
        for text in [
            r#"{"$serde_json::private::RawValue":"1"}"#,
            r#"{"a":[{ "$serde_json::private::Number" : "1"}]}"#,
            r#"{"\u0024serde_json::private::RawValue":"1"}"#,
            r#"{"$\u0073erde_json\u003a\u003Aprivate::RawValue":"1"}"#,
            r#"{"x\\":1,"$serde_json::private::RawValue":"1"}"#,
        ] {
            assert!(has_reserved_key(text.as_bytes()), "{text}");
        }
        for text in [
            r#"{"$serde_json":1,"serde_json::private::RawValue":2}"#,
            r#"{"a":"\"$serde_json::private::RawValue"}"#,
            r#"{"\\u0024serde_json::private::RawValue":"1"}"#,
            r#"{"$serde_json::priv"#,
            r#"{"\u00"#,
            "",
        ] {
            assert!(!has_reserved_key(text.as_bytes()), "{text}");
        }
    }
}

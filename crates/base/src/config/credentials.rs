//! Removes user names and passwords from URLs before they are shown.

/// Replaces user names and passwords of URLs by `…`: in each word, everything between the scheme and the last `@`. A
/// password that was not percent-encoded may contain any character except white space.
pub fn without_credentials(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(redact_word).collect()
}

fn redact_word(word: &str) -> String {
    let Some(at) = word.rfind('@') else { return word.to_owned() };
    let (before, host) = word.split_at(at);
    match before.find("://") {
        Some(scheme) => format!("{}…{host}", &before[..scheme + "://".len()]),
        // A URL without a scheme.
        None if before.contains(':') => format!("…{host}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn urls_are_shown_without_users_and_passwords() {
        for (text, shown) in [
            ("nothing  at\nall", "nothing  at\nall"),
            ("a@b.example", "a@b.example"),
            ("https://example.com/path?x=1 and a@b", "https://example.com/path?x=1 and a@b"),
            ("https://user:password@example.com", "https://…@example.com"),
            ("'https://user:p/s's@example.com/x' for", "'https://…@example.com/x' for"),
            ("redis://:secret@a, postgres://u:p@b/c", "redis://…@a, postgres://…@b/c"),
            ("smtp://u:p@ss@host:25", "smtp://…@host:25"),
            ("[env: X=https://u:p@h]", "[env: X=https://…@h]"),
            ("'user:password@host'", "…@host'"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}

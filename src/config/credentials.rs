//! What is shown of URLs: no users and passwords.

/// A text in which `…` stands for the users and passwords of URLs. A password may have anything in it that nobody has escaped, but for white
/// space: so all goes that stands between the scheme and the last @ of a word.
pub fn masked(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

fn word(word: &str) -> String {
    let Some(at) = word.rfind('@') else { return word.to_owned() };
    let (before, host) = word.split_at(at);
    match before.find("://") {
        Some(scheme) => format!("{}…{host}", &before[..scheme + "://".len()]),
        // Somebody has left the scheme out.
        None if before.contains(':') => format!("…{host}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::masked;

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
            assert_eq!(masked(text), shown);
        }
    }
}

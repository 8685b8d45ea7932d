//! Hides secrets in the messages of other servers.

/// Replaces a secret with `…` where it stands by itself. Within a longer word it stays, because a gap in a known word
/// would reveal the secret's letters.
pub fn without_secret(text: &str, secret: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(secret).filter(|_| !secret.is_empty()) {
        let (before, after) = (&text[..at], &text[at + secret.len()..]);
        let is_whole = !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        if is_whole {
            masked.push_str(&text[from..at]);
            masked.push('…');
            from = at + secret.len();
        }
    }
    masked + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::without_secret;

    #[test]
    fn a_secret_is_masked_where_it_stands_by_itself() {
        for (text, secret, expected) in [
            ("the host is not found", "u", "the host is not found"),
            ("smtp://u:pass@mail", "u", "smtp://…:pass@mail"),
            ("no u, no U", "u", "no …, no U"),
            ("hunter2 hunter22 xhunter2", "hunter2", "… hunter22 xhunter2"),
            ("a", "", "a"),
        ] {
            assert_eq!(without_secret(text, secret), expected, "{text}");
        }
    }
}

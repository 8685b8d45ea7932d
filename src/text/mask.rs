//! Secrets in what others say.

/// A text with `…` in place of a secret, where that stands by itself: in the middle of words it is a part of them, and its letters would
/// show in what is missing.
pub fn masked(text: &str, secret: &str) -> String {
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
    use super::masked;

    #[test]
    fn a_secret_is_masked_where_it_stands_by_itself() {
        for (text, secret, expected) in [
            ("the host is not found", "u", "the host is not found"),
            ("smtp://u:pass@mail", "u", "smtp://…:pass@mail"),
            ("no u, no U", "u", "no …, no U"),
            ("hunter2 hunter22 xhunter2", "hunter2", "… hunter22 xhunter2"),
            ("a", "", "a"),
        ] {
            assert_eq!(masked(text, secret), expected, "{text}");
        }
    }
}

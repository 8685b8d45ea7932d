//! Cuts texts between extended grapheme clusters (UAX #29), which readers see as characters.

use unicode_segmentation::UnicodeSegmentation;

use super::direction::{DirectionStack, close_directions};

/// The number of Unicode characters in a text, the usual measure of its length.
pub fn character_count(text: &str) -> usize {
    text.chars().count()
}

/// Cuts a text so that it measures at most `most`. A longer text becomes its beginning followed by `mark`, or `mark`
/// alone if the first cluster is too long. Closes the directions that the beginning opens (`close_directions`). The
/// measure of a text must be the sum over its clusters, and equal for all closing characters.
pub fn shorten_text(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> String {
    shortened_prefix(text, most, mark, measure).map_or_else(|| text.to_owned(), |kept| kept + mark)
}

/// The same without white space before the mark.
pub fn shorten_trimmed(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> String {
    shortened_prefix(text, most, mark, measure)
        .map_or_else(|| text.to_owned(), |kept| kept.trim_end().to_owned() + mark)
}

/// The first `most` bytes of a text, up to the end of a cluster.
pub fn first_bytes(text: &str, most: usize) -> String {
    shorten_text(text, most, "", str::len)
}

/// The beginning that leaves room for the mark. `None` if the whole text fits.
fn shortened_prefix(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> Option<String> {
    // No measure exceeds six per byte: JSON escapes a control character with six.
    if text.len() * 6 <= most || measure(text) <= most {
        return None;
    }
    let text = close_directions(text);
    let (room, closer) = (most.saturating_sub(measure(mark)), measure("\u{2069}"));
    let mut closing = DirectionStack::default();
    let (mut used, mut end) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        used += measure(cluster);
        if used > room {
            break;
        }
        for character in cluster.chars() {
            closing.accept_character(character);
        }
        if used + closing.open_count() * closer <= room {
            end = at + cluster.len();
        }
    }
    Some(close_directions(&text[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_clusters() {
        let family = "👨\u{200D}👩\u{200D}👧\u{200D}👦";
        for (text, most, expected) in [
            ("plain", 5, "plain".to_owned()),
            ("plain!", 5, "plai…".into()),
            ("ab🇩🇪🇫🇷", 5, "ab🇩🇪…".into()),
            ("ab🇩🇪🇫🇷", 4, "ab…".into()),
            ("a👍🏽👍🏽", 4, "a👍🏽…".into()),
            ("cafe\u{301} au", 5, "caf…".into()),
            ("cafe\u{301} au", 6, "cafe\u{301}…".into()),
            (&format!("{family}{family}"), 9, format!("{family}…")),
            (family, 6, "…".into()),
            (&format!("a{}", "\u{301}".repeat(50)), 5, "…".into()),
        ] {
            assert_eq!(shorten_text(text, most, "…", character_count), expected, "{text} {most}");
        }
        assert_eq!(shorten_text("a\u{202E}bcdef", 5, "…", character_count), "a\u{202E}b\u{202C}…");
        assert_eq!(shorten_text("ab\u{202E}cdef", 4, "…", character_count), "ab…");
        assert_eq!(shorten_text("abcdef", 3, "", character_count), "abc");
        assert_eq!(shorten_trimmed("all of it", 5, "…", character_count), "all…");
        assert_eq!(first_bytes("cafe\u{301}", 5), "caf");
    }
}

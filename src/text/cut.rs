//! Cuts texts between extended grapheme clusters (UAX #29), which readers see as characters.

use unicode_segmentation::UnicodeSegmentation;

use super::direction::{Closing, closed};

/// The number of Unicode characters in a text, the usual measure of its length.
pub fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Cuts a text so that it measures at most `most`. A longer text becomes its beginning followed by `mark`, or `mark`
/// alone if the first cluster is too long. Closes the directions that the beginning opens (`closed`). The measure of a
/// text must be the sum over its clusters, and equal for all closing characters.
pub fn cut(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> String {
    shortened(text, most, mark, measure).map_or_else(|| text.to_owned(), |kept| kept + mark)
}

/// The same without white space before the mark.
pub fn cut_trimmed(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> String {
    shortened(text, most, mark, measure).map_or_else(|| text.to_owned(), |kept| kept.trim_end().to_owned() + mark)
}

/// The first `most` bytes of a text, up to the end of a cluster.
pub fn first_bytes(text: &str, most: usize) -> String {
    cut(text, most, "", str::len)
}

/// The beginning that leaves room for the mark. `None` if the whole text fits.
fn shortened(text: &str, most: usize, mark: &str, measure: impl Fn(&str) -> usize) -> Option<String> {
    // No measure exceeds six per byte: JSON escapes a control character with six.
    if text.len() * 6 <= most || measure(text) <= most {
        return None;
    }
    let text = closed(text);
    let (room, closer) = (most.saturating_sub(measure(mark)), measure("\u{2069}"));
    let mut closing = Closing::default();
    let (mut used, mut end) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        used += measure(cluster);
        if used > room {
            break;
        }
        for character in cluster.chars() {
            closing.read(character);
        }
        if used + closing.count() * closer <= room {
            end = at + cluster.len();
        }
    }
    Some(closed(&text[..end]).into_owned())
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
            assert_eq!(cut(text, most, "…", characters), expected, "{text} {most}");
        }
        assert_eq!(cut("a\u{202E}bcdef", 5, "…", characters), "a\u{202E}b\u{202C}…");
        assert_eq!(cut("ab\u{202E}cdef", 4, "…", characters), "ab…");
        assert_eq!(cut("abcdef", 3, "", characters), "abc");
        assert_eq!(cut_trimmed("all of it", 5, "…", characters), "all…");
        assert_eq!(first_bytes("cafe\u{301}", 5), "caf");
    }
}

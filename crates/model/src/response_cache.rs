//! Cached responses that depend only on what was read of an inbox.

use std::sync::Arc;

use entity::ids::Seq;

use super::cache_validator::CacheValidator;
use super::per_user_cache::{CacheEntry, PerUserCache};

/// Longer responses are not cached; only their tag is.
const LONGEST: usize = 16 * 1024;

/// Cached responses per user: a page or two query the bell and its list in a few ways.
const ANSWERS: usize = 6;

/// Overhead of a cache entry in bytes: the entry, its lists, and what the allocator rounds up.
const PLACE: usize = 200;

/// Response caches, by user.
pub type ResponseCache = PerUserCache<CachedResponse>;

/// The last response to a request of a user. It is valid while all its proofs are.
#[derive(Clone, Debug)]
pub struct CachedResponse {
    /// Hash of the whole request.
    pub request: i64,
    pub proofs: Vec<Arc<CacheValidator>>,
    /// The `ETag`; `None` if no `ETag` is sent.
    pub tag: Option<i64>,
    /// The log position that the response shows as its cursor; `None` if it shows none.
    pub cursor: Option<Seq>,
    /// `None` if it is too long.
    pub text: Option<ResponseText>,
}

/// A response, split at its cursors; in one part if a cursor could be confused with other text.
#[derive(Clone, Debug)]
pub struct ResponseText(Arc<[Box<str>]>);

impl CacheEntry for CachedResponse {
    const MOST: usize = ANSWERS;

    fn weight(&self) -> usize {
        let parts = self.text.iter().flat_map(|text| text.0.iter()).map(|part| size_of_val(part) + part.len());
        let proofs = self.proofs.iter().map(|proof| size_of_val(proof) + proof.weight());
        PLACE + size_of_val(self) + parts.sum::<usize>() + proofs.sum::<usize>()
    }

    fn replaces(&self, other: &Self) -> bool {
        self.request == other.request
    }
}

impl CachedResponse {
    /// The response with another cursor, given as position and text; `None` if that is not possible.
    pub fn text_at(&self, cursor: Seq, written: &str) -> Option<String> {
        let text = self.text.as_ref()?;
        let is_same = self.cursor.is_none_or(|of| of == cursor);
        (is_same || text.has_cursor()).then(|| text.with_cursor(written))
    }
}

impl ResponseText {
    /// Splits a response that has the cursor in `fields` places; `None` if it is too long.
    pub fn split_at_cursor(answer: &str, cursor: &str, fields: usize) -> Option<Self> {
        if answer.len() > LONGEST {
            return None;
        }
        let cursor = format!("\"{cursor}\"");
        if fields == 0 || answer.matches(&cursor).count() != fields {
            return Some(Self(Arc::new([answer.into()])));
        }
        Some(Self(answer.split(&cursor).map(Box::from).collect()))
    }

    /// Whether the cursor can be replaced.
    fn has_cursor(&self) -> bool {
        self.0.len() > 1
    }

    fn with_cursor(&self, cursor: &str) -> String {
        let many: usize = self.0.iter().map(|part| part.len()).sum();
        let mut answer = String::with_capacity(many + self.0.len() * (cursor.len() + 2));
        for (place, part) in self.0.iter().enumerate() {
            if place > 0 {
                answer.push('"');
                answer.push_str(cursor);
                answer.push('"');
            }
            answer.push_str(part);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_but_for_its_cursors() {
        let answer = r#"{"a":"here","b":{"c":"here","d":"there"}}"#;
        let text = ResponseText::split_at_cursor(answer, "here", 2).unwrap();
        assert!(text.has_cursor());
        assert_eq!(text.with_cursor("here"), answer);
        assert_eq!(text.with_cursor("beyond"), r#"{"a":"beyond","b":{"c":"beyond","d":"there"}}"#);
        assert_eq!(ResponseText::split_at_cursor(answer, "", 0).unwrap().with_cursor(""), answer);
    }

    #[test]
    fn what_only_looks_like_a_cursor_is_not_taken_for_one() {
        let answer = r#"{"title":"here","cursor":"here"}"#;
        let text = ResponseText::split_at_cursor(answer, "here", 1).unwrap();
        assert!(!text.has_cursor());
        assert_eq!(text.with_cursor("beyond"), answer);
        let quoted = r#"{"title":"she said \"here\"","cursor":"here"}"#;
        assert_eq!(
            ResponseText::split_at_cursor(quoted, "here", 1).unwrap().with_cursor("x"),
            r#"{"title":"she said \"here\"","cursor":"x"}"#
        );
    }

    #[test]
    fn a_long_answer_has_none() {
        assert!(ResponseText::split_at_cursor(&"a".repeat(LONGEST), "here", 0).is_some());
        assert!(ResponseText::split_at_cursor(&"a".repeat(LONGEST + 1), "here", 0).is_none());
    }
}

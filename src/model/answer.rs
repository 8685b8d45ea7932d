//! Answers that were made of what was read of an inbox, and of nothing else.

use std::sync::Arc;

use entity::ids::Seq;

use super::proof::Proof;
use super::remembered::{OfUsers, Remembered};

/// Of longer ones only the tag is remembered.
const LONGEST: usize = 16 * 1024;

/// Answers that are remembered of a user: a page or two ask for their bell and its list in a few ways.
const ANSWERS: usize = 6;

/// What an answer takes besides what it holds, in bytes: its place in the cache, its lists' own and what allocating rounds up.
const PLACE: usize = 200;

/// By who has asked.
pub type Answers = OfUsers<Answer>;

/// The last answer to a request of a user's. It would be made again as long as all of its proofs hold.
#[derive(Clone, Debug)]
pub struct Answer {
    /// All that was asked.
    pub request: i64,
    pub proofs: Vec<Arc<Proof>>,
    /// What its text is told from other texts by; nothing where nobody is told that.
    pub tag: Option<i64>,
    /// The place in the log that it says the inbox is shown as of; nothing where it says none.
    pub cursor: Option<Seq>,
    /// Nothing where it is too long.
    pub text: Option<Text>,
}

/// What an answer says: the parts between its cursors, or all of it where these cannot be told from what looks the same.
#[derive(Clone, Debug)]
pub struct Text(Arc<[Box<str>]>);

impl Remembered for Answer {
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

impl Answer {
    /// Its text where the inbox is shown as of this place in the log, which is written so; nothing where that is not known.
    pub fn text_at(&self, cursor: Seq, written: &str) -> Option<String> {
        let text = self.text.as_ref()?;
        let is_same = self.cursor.is_none_or(|of| of == cursor);
        (is_same || text.is_open()).then(|| text.with(written))
    }
}

impl Text {
    /// Of an answer in which so many fields say this cursor; nothing where it is too long.
    pub fn of(answer: &str, cursor: &str, fields: usize) -> Option<Self> {
        if answer.len() > LONGEST {
            return None;
        }
        let cursor = format!("\"{cursor}\"");
        if fields == 0 || answer.matches(&cursor).count() != fields {
            return Some(Self(Arc::new([answer.into()])));
        }
        Some(Self(answer.split(&cursor).map(Box::from).collect()))
    }

    /// Whether it can be told with another cursor.
    fn is_open(&self) -> bool {
        self.0.len() > 1
    }

    fn with(&self, cursor: &str) -> String {
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
        let text = Text::of(answer, "here", 2).unwrap();
        assert!(text.is_open());
        assert_eq!(text.with("here"), answer);
        assert_eq!(text.with("beyond"), r#"{"a":"beyond","b":{"c":"beyond","d":"there"}}"#);
        assert_eq!(Text::of(answer, "", 0).unwrap().with(""), answer);
    }

    #[test]
    fn what_only_looks_like_a_cursor_is_not_taken_for_one() {
        let answer = r#"{"title":"here","cursor":"here"}"#;
        let text = Text::of(answer, "here", 1).unwrap();
        assert!(!text.is_open());
        assert_eq!(text.with("beyond"), answer);
        let quoted = r#"{"title":"she said \"here\"","cursor":"here"}"#;
        assert_eq!(Text::of(quoted, "here", 1).unwrap().with("x"), r#"{"title":"she said \"here\"","cursor":"x"}"#);
    }

    #[test]
    fn a_long_answer_has_none() {
        assert!(Text::of(&"a".repeat(LONGEST), "here", 0).is_some());
        assert!(Text::of(&"a".repeat(LONGEST + 1), "here", 0).is_none());
    }
}

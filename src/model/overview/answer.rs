//! Answers that were made of a remembered overview and of nothing else.

use std::sync::Arc;

use entity::ids::Seq;

/// Of longer ones only the tag is remembered.
const LONGEST: usize = 16 * 1024;

/// An answer that was made of a remembered overview.
#[derive(Clone, Debug)]
pub struct Made {
    /// To which request.
    pub request: i64,
    /// What its text is told from other texts by.
    pub tag: i64,
    /// The overview's, where the answer holds it.
    pub cursor: Option<Seq>,
    /// Nothing where that is not to be remembered.
    pub text: Option<Text>,
}

/// What an answer says, but for where the inbox stands: the parts between its cursors.
#[derive(Clone, Debug)]
pub struct Text(Arc<[Box<str>]>);

impl Made {
    /// What it takes besides itself, in bytes.
    pub fn weight(&self) -> usize {
        let parts = self.text.iter().flat_map(|text| text.0.iter());
        parts.map(|part| size_of_val(part) + part.len()).sum()
    }
}

impl Text {
    /// Of an answer in which so many fields say this cursor; nothing where something else in it says the same, or it is too long.
    pub fn of(answer: &str, cursor: &str, fields: usize) -> Option<Self> {
        if answer.len() > LONGEST {
            return None;
        }
        if fields == 0 {
            return Some(Self(Arc::new([answer.into()])));
        }
        let cursor = format!("\"{cursor}\"");
        let parts: Arc<[Box<str>]> = answer.split(&cursor).map(Box::from).collect();
        (parts.len() == fields + 1).then_some(Self(parts))
    }

    /// The answer, where the inbox stands at this cursor.
    pub fn at(&self, cursor: &str) -> String {
        let many: usize = self.0.iter().map(|part| part.len()).sum();
        let mut answer = String::with_capacity(many + (self.0.len() - 1) * (cursor.len() + 2));
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
        assert_eq!(text.at("here"), answer);
        assert_eq!(text.at("beyond"), r#"{"a":"beyond","b":{"c":"beyond","d":"there"}}"#);
        assert_eq!(Text::of(answer, "", 0).unwrap().at(""), answer);
    }

    #[test]
    fn what_only_looks_like_a_cursor_is_not_taken_for_one() {
        let answer = r#"{"title":"here","cursor":"here"}"#;
        assert!(Text::of(answer, "here", 1).is_none());
        let quoted = r#"{"title":"she said \"here\"","cursor":"here"}"#;
        assert_eq!(Text::of(quoted, "here", 1).unwrap().at("x"), r#"{"title":"she said \"here\"","cursor":"x"}"#);
    }

    #[test]
    fn a_long_answer_has_none() {
        assert!(Text::of(&"a".repeat(LONGEST), "here", 0).is_some());
        assert!(Text::of(&"a".repeat(LONGEST + 1), "here", 0).is_none());
    }
}

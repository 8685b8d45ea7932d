//! Text with placeholders for columns.

use serde::{Deserialize, Serialize};

use super::columns::{ColumnValues, id_text};
use base::error::{Error, Result};

/// Text with placeholders `{{ column }}` for values of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlaceholderText(String);

impl PlaceholderText {
    /// Fails if braces do not name a column.
    pub fn parse(text: String) -> Result<Self> {
        let words = Self(text);
        let refuse = |()| Error::bad_input("", "must name columns as in \"{{ warehouse }}\"");
        words.parts().collect::<Result<Vec<_>, ()>>().map_err(refuse)?;
        Ok(words)
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Fills in the values of a row.
    pub fn fill(&self, row: &ColumnValues) -> Result<String> {
        let mut filled = String::with_capacity(self.0.len());
        for part in self.parts() {
            match part.map_err(|()| Error::internal("a text with columns was not validated"))? {
                TextPart::Text(text) => filled.push_str(text),
                TextPart::Column(column) => filled.push_str(&id_text(row, column)?),
            }
        }
        Ok(filled)
    }

    fn parts(&self) -> impl Iterator<Item = Result<TextPart<'_>, ()>> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let Some(inside) = rest.strip_prefix("{{") else {
                let (text, after) = rest.split_at(rest.find("{{").unwrap_or(rest.len()));
                rest = after;
                return Some(if text.contains("}}") { Err(()) } else { Ok(TextPart::Text(text)) });
            };
            let Some((column, after)) = inside.split_once("}}") else {
                rest = "";
                return Some(Err(()));
            };
            rest = after;
            let column = column.trim();
            Some(if column.is_empty() || column.contains('{') { Err(()) } else { Ok(TextPart::Column(column)) })
        })
    }
}

enum TextPart<'a> {
    Text(&'a str),
    Column(&'a str),
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(text: &str) -> Option<String> {
        let Value::Object(row) = json!({ "id": 7, "place": "B 2", "on": true, "none": null, "list": [1] }) else {
            None?
        };
        PlaceholderText::parse(text.to_owned()).ok()?.fill(&row).ok()
    }

    #[test]
    fn columns_stand_for_what_a_row_has_there() {
        assert_eq!(filled("warehouse").as_deref(), Some("warehouse"));
        assert_eq!(filled("{{id}}").as_deref(), Some("7"));
        assert_eq!(filled("a-{{ id }}-{{ place }}{{ on }}!").as_deref(), Some("a-7-B 2true!"));
        assert_eq!(filled("{ id }").as_deref(), Some("{ id }"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in ["{{ id", "{{}}", "{{ {{ id }}", "id }}", "{{ other }}", "{{ none }}", "{{ list }}"] {
            assert_eq!(filled(text), None, "{text}");
        }
    }
}

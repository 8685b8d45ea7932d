//! Characters that change the direction of a line (UAX #9, the Unicode Bidirectional Algorithm).
//!
//! A text that opens an embedding, an override or an isolate and does not close it reorders the rest of its line.

use std::borrow::Cow;

use unicode_bidi::{BidiClass, bidi_class};

const POP_DIRECTION: char = '\u{202C}';
const POP_ISOLATE: char = '\u{2069}';

/// A direction that a text has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenDirection {
    /// An embedding or an override.
    Embedding,
    Isolate,
}

/// The directions that are open at one point of a text.
#[derive(Clone, Debug, Default)]
pub struct DirectionStack {
    opened: Vec<OpenDirection>,
    isolates: usize,
}

impl DirectionStack {
    /// Reads the next character. Returns `false` if it closes something that the text did not open. Such a character
    /// must be removed, because it would close something in the surrounding text.
    pub fn accept_character(&mut self, character: char) -> bool {
        match character {
            '\u{202A}' | '\u{202B}' | '\u{202D}' | '\u{202E}' => self.opened.push(OpenDirection::Embedding),
            '\u{2066}'..='\u{2068}' => {
                self.opened.push(OpenDirection::Isolate);
                self.isolates += 1;
            }
            POP_DIRECTION => return self.opened.pop_if(|last| *last == OpenDirection::Embedding).is_some(),
            POP_ISOLATE => {
                if self.isolates == 0 {
                    return false;
                }
                // It also closes the embeddings within the isolate.
                while self.opened.pop() == Some(OpenDirection::Embedding) {}
                self.isolates -= 1;
            }
            _ => {}
        }
        true
    }

    /// The number of characters that close all open directions.
    pub fn open_count(&self) -> usize {
        self.opened.len()
    }

    /// Closes all open directions, the last first.
    pub fn close_all(&mut self, text: &mut String) {
        self.isolates = 0;
        for opened in self.opened.drain(..).rev() {
            text.push(if opened == OpenDirection::Embedding { POP_DIRECTION } else { POP_ISOLATE });
        }
    }
}

/// The text, with everything closed on the line that opens it, and without unmatched closing characters.
pub fn close_directions(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut closing = DirectionStack::default();
    let mut closed = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_paragraph_end(character) {
            closing.close_all(&mut closed);
        }
        if closing.accept_character(character) {
            closed.push(character);
        }
    }
    closing.close_all(&mut closed);
    Cow::Owned(closed)
}

/// Whether a character ends a paragraph of the algorithm, which closes all open directions.
pub fn is_paragraph_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2029}')
}

/// Whether a text contains right-to-left characters or characters that change the direction.
pub fn has_reordering(text: &str) -> bool {
    let does = |character: char| {
        !character.is_ascii()
            && (is_control(character) || matches!(bidi_class(character), BidiClass::R | BidiClass::AL | BidiClass::AN))
    };
    !text.is_ascii() && text.chars().any(does)
}

fn is_control(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use unicode_bidi::BidiInfo;

    use super::*;

    #[test]
    fn what_a_text_opens_is_closed_on_its_line_and_nothing_else_is() {
        for (text, expected) in [
            ("Ben", "Ben"),
            ("Mallory\u{202E}", "Mallory\u{202E}\u{202C}"),
            ("\u{202A}a\u{202C}", "\u{202A}a\u{202C}"),
            ("a\u{2069}\u{202E}b", "a\u{202E}b\u{202C}"),
            ("a\u{202C}b", "ab"),
            ("\u{2067}\u{202E}a\u{2069}b", "\u{2067}\u{202E}a\u{2069}b"),
            ("\u{202E}\u{2066}a\u{202C}", "\u{202E}\u{2066}a\u{2069}\u{202C}"),
            ("\u{202E}a\nb\u{2068}", "\u{202E}a\u{202C}\nb\u{2068}\u{2069}"),
        ] {
            assert_eq!(close_directions(text), expected, "{text:?}");
            assert_eq!(close_directions(expected), expected, "{text:?} is closed once");
        }
    }

    #[test]
    fn a_closed_text_in_an_isolate_leaves_the_line_as_it_is() {
        let signs = [
            'a', '1', 'א', '\u{202A}', '\u{202B}', '\u{202C}', '\u{202D}', '\u{202E}', '\u{2066}', '\u{2067}',
            '\u{2068}', '\u{2069}',
        ];
        let mut seed = 7_u32;
        for _ in 0..5000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push(signs[(seed >> 16) as usize % signs.len()]);
            }
            let line = format!("by \u{2068}{}\u{2069} 12 commented", close_directions(&text));
            let info = BidiInfo::new(&line, None);
            let end = line.rfind(" 12 commented").unwrap();
            assert_eq!(info.paragraphs[0].level.number(), 0, "{text:?}");
            assert!(info.levels[end..].iter().all(|level| level.number() == 0), "{text:?}");
        }
    }
}

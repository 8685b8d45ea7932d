//! Which characters of a text are visible.

use std::borrow::Cow;

use super::direction::close_directions;

/// Whether a text has a visible character: not only white space, control characters and ignorable characters.
pub fn is_visible(text: &str) -> bool {
    text.chars().any(|character| !character.is_whitespace() && !character.is_control() && !is_ignorable(character))
}

/// `Default_Ignorable_Code_Point` of Unicode 17 (DerivedCoreProperties.txt), and the Braille pattern without dots.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

fn is_line_break(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// One line: each run of line breaks and control characters is a space.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_line_break) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    let mut is_break = false;
    for character in text.chars() {
        let was_break = is_break;
        is_break = is_line_break(character);
        if !is_break {
            line.push(character);
        } else if !was_break {
            line.push(' ');
        }
    }
    Cow::Owned(line)
}

/// Keeps line ends `\n` and `\r\n`, and tabs. Other line breaks become `\n`, other control characters become spaces.
pub fn normalize_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|of| is_line_break(of) && !matches!(of, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        lines.push(match character {
            '\r' if characters.peek() == Some(&'\n') => '\r',
            '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            '\n' | '\t' => character,
            other if other.is_control() => ' ',
            other => other,
        });
    }
    Cow::Owned(lines)
}

/// A user's text as one line that does not reorder the text beside it. `None` if none of it is visible.
pub fn display_line(text: &str) -> Option<String> {
    is_visible(text).then(|| close_directions(&one_line(text)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_as_nothing_is_not_visible() {
        for text in [
            "",
            " \t\n",
            "\u{200B}\u{200D}\u{FEFF}",
            "\u{3164}",
            "\u{2800}",
            "\u{202E}\u{2069}",
            "\0\u{85}\u{A0}",
            "\u{E0061}\u{FE0F}",
        ] {
            assert!(!is_visible(text), "{text:?}");
        }
        for text in ["a", "\u{200B}.", "👋", "\u{202E}x", "无"] {
            assert!(is_visible(text), "{text:?}");
        }
    }

    #[test]
    fn a_line_has_no_breaks_and_lines_have_one_kind() {
        let text = "a\r\nb\u{2028}c\u{85}\u{B}d\0e\tf";
        assert_eq!(one_line(text), "a b c d e f");
        assert_eq!(normalize_lines(text), "a\r\nb\nc\n\nd e\tf");
        assert_eq!(normalize_lines("a\rb"), "a\nb");
    }
}

//! What the fields of a template hold, by the kind that their names begin with.

use crate::text::{characters, closed, cut, is_visible};

/// What a kind of field holds.
struct Holds {
    kind: &'static str,
    characters: usize,
    /// What stands at the end of what was cut; nothing where the kind has no such sign.
    mark: &'static str,
    /// What stands for nothing, which WeChat refuses.
    nothing: &'static str,
}

const fn holds(kind: &'static str, characters: usize, mark: &'static str, nothing: &'static str) -> Holds {
    Holds { kind, characters, mark, nothing }
}

/// The kinds whose texts may be cut.
///
/// Not so numbers, amounts, times, telephones and plates: half of one is another one. They go as they are, and where they do not
/// fit, WeChat says in which field.
const KINDS: [Holds; 7] = [
    holds("thing", 20, "…", "-"),
    holds("const", 20, "…", "-"),
    holds("name", 10, "…", "-"),
    // Chinese characters alone.
    holds("phrase", 5, "", "无"),
    // Digits, letters and signs of ASCII.
    holds("character_string", 32, "...", "-"),
    holds("letter", 32, "", "-"),
    holds("symbol", 5, "", "-"),
];

/// A value as a field of this name takes it: on one line, not empty, and no longer than its kind holds.
pub fn fitted(name: &str, value: &str) -> String {
    let line = value.split(|of: char| of.is_whitespace() || of.is_control()).filter(|part| !part.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let kind = name.trim_end_matches(|of: char| of.is_ascii_digit());
    let holds = KINDS.iter().find(|of| of.kind == kind);
    if !is_visible(&line) {
        return holds.map_or("-", |of| of.nothing).to_owned();
    }
    let line = closed(&line).into_owned();
    let Some(holds) = holds else { return line };
    // A name may be twice as long in Latin letters.
    let many = if kind == "name" && line.is_ascii() { 2 * holds.characters } else { holds.characters };
    let fitting = cut(&line, many, holds.mark, characters);
    // Where the first character of people is longer than the kind holds, and there is no mark.
    if fitting.is_empty() { holds.nothing.to_owned() } else { fitting }
}

//! Language tags.

/// Languages written from right to left, unless the tag names a script.
const RIGHT_TO_LEFT: [&str; 13] = ["ar", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "ug", "ur", "yi"];
/// Scripts written from right to left.
const RIGHT_TO_LEFT_SCRIPTS: [&str; 7] = ["Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"];

/// Whether the text has the form of a BCP 47 tag.
pub(super) fn is_tag(tag: &str) -> bool {
    let is_part = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    tag.len() <= 35 && tag.split('-').all(is_part)
}

/// Whether the language is written from right to left.
pub(super) fn is_right_to_left(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or_default();
    let (all, own): (&[&str], &str) = match parts.find(|part| part.len() == 4) {
        Some(script) => (&RIGHT_TO_LEFT_SCRIPTS, script),
        None => (&RIGHT_TO_LEFT, language),
    };
    all.iter().any(|of| of.eq_ignore_ascii_case(own))
}

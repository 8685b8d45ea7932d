//! Language tags.

/// Whether the text has the form of a BCP 47 tag.
pub(super) fn is_tag(tag: &str) -> bool {
    let is_part = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    tag.len() <= 35 && tag.split('-').all(is_part)
}

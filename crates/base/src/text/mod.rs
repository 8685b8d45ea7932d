//! Text as readers see it: its direction, where it can be cut, and whether it is visible.

mod direction;
mod redact;
mod truncate;
mod visibility;

pub use direction::{DirectionStack, close_directions, has_reordering, is_paragraph_end};
pub use redact::without_secret;
pub use truncate::{character_count, first_bytes, shorten_text, shorten_trimmed};
pub use visibility::{display_line, is_visible, normalize_lines, one_line};

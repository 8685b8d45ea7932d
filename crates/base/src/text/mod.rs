//! Text as readers see it: its direction, where it can be cut, and whether it is visible.

mod cut;
mod direction;
mod mask;
mod visible;

pub use cut::{character_count, first_bytes, shorten_text, shorten_trimmed};
pub use direction::{DirectionStack, close_directions, has_reordering, is_paragraph_end};
pub use mask::without_secret;
pub use visible::{display_line, is_visible, normalize_lines, one_line};

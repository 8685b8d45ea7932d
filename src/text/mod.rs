//! Text as readers see it: its direction, where it can be cut, and whether it is visible.

mod cut;
mod direction;
mod mask;
mod visible;

pub use cut::{characters, cut, cut_trimmed, first_bytes};
pub use direction::{Closing, closed, ends_paragraph, reorders};
pub use mask::without_secret;
pub use visible::{is_visible, one_line, paragraphs, shown_line};

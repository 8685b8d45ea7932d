//! A user's inbox: their copy of what was published to them, with their state of it.
//!
//! Everything that reads an inbox asks first whether it is behind the log (`standing`), syncs it if so (`sync`), and
//! then reads `inbox_item` alone (`page`, and `overview` next door). `mark` changes the state.

mod amend;
pub mod item;
pub mod mark;
pub mod page;
pub mod shelf;
pub mod standing;
pub mod sync;

pub use item::Item;

//! A user's inbox: their copies of notifications, with read and archive state.
//!
//! Every read first checks whether the inbox is behind the log (`freshness`), syncs it if so (`sync`), and then reads
//! only `inbox_item` (`list`, and `overview` next door). `mark` changes the state.

mod amendments;
pub mod freshness;
pub mod item;
pub mod list;
pub mod mark;
pub mod ranges;
pub mod sync;

pub use item::UserItem;

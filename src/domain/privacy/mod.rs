//! What becomes of a user's data when they ask for it: it is exported, or erased.

mod erase;
mod export;
mod orphan;
mod statement;

pub use erase::{erase, step as erase_step};
pub use export::export;
pub use orphan::sweep as sweep_orphans;

//! Exporting and erasing a user's data.
//!
//! Erasing deletes the user's row; a job removes the rest (`erase_user`). So that the job finds every row that will
//! ever exist, each transaction that writes about users makes sure that they exist until its commit: changes of an
//! inbox lock the user's row; activities, joins and follows share-lock it (`user::held`); a send, which locks the
//! tenant's row anyway, compares `tenant.erased_count` with its value from before the users were looked up. The key of
//! the user cache contains the same number, so an id that was looked up before an erasure is looked up again. Once a
//! day `orphan` deletes remaining rows, which it finds by the gaps between user ids.

mod erase;
mod export;
mod orphan;
mod queries;

pub use erase::{erase_user, run_step as erase_step};
pub use export::export_user;
pub use orphan::sweep as sweep_orphans;

//! Exporting and erasing a user's data.
//!
//! Erasing deletes the user's row; a job removes the rest (`erase`). For the job to find all rows that will ever exist, every writer
//! about users makes sure that they still exist at its commit: changes of an inbox lock the user's row, activities, joins and follows
//! share-lock it (`user::held`), and a send, which locks the tenant's row anyway, compares `tenant.erased_count` with its value from
//! before the users were looked up. The same number is part of the key of the cache of users, so an id that was looked up before an
//! erasure is looked up again. Once a day `orphan` looks for what remains, by the gaps between users' numbers.

mod erase;
mod export;
mod orphan;
mod statement;

pub use erase::{erase, step as erase_step};
pub use export::export;
pub use orphan::sweep as sweep_orphans;

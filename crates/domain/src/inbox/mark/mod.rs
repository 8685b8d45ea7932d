//! Marks: read, unread, archived, deleted, seen.
//!
//! Each mark is a transaction that locks the user's row. Marks of all matching items (`matching`) sync the inbox in their
//! own transaction. Marks by item id (`items`) share a transaction with those of other users.

mod by_ids;
mod matching;
mod outcome;
mod queries;
mod transitions;

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use crate::tenant::Tenant;
use base::error::Result;
pub use matching::{MarkFilter, record_seen};
pub use outcome::MarkOutcome;
use store::Store;
pub use transitions::ItemChange;

/// The items to mark.
#[derive(Clone, Debug)]
pub enum MarkSelection {
    /// These items. Ids of items that are gone are ignored.
    Items(Vec<Seq>),
    /// All matching items of the inbox.
    Matching(MarkFilter),
}

/// Changes the state of a user's items and returns how many changed.
pub async fn apply(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    user: UserId,
    selection: &MarkSelection,
    change: ItemChange,
) -> Result<MarkOutcome> {
    match selection {
        MarkSelection::Items(seqs) => by_ids::apply(store, tenant, user, seqs, change).await,
        MarkSelection::Matching(of) => matching::apply(store, tenant, user, of, change).await,
    }
}

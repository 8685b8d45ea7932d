//! Marks: read, unread, archived, deleted, seen.
//!
//! Each mark is a transaction that locks the user's row. Marks of all matching items (`bulk`) sync the inbox in their
//! own transaction. Marks by item id (`items`) share a transaction with those of other users.

mod bulk;
mod changed;
mod items;
mod statement;
mod step;
mod write;

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use crate::app::App;
use crate::domain::tenant::Tenant;
use crate::error::Result;
pub use bulk::{Match, see};
pub use changed::Marked;
pub use step::Change;

/// The items to mark.
#[derive(Clone, Debug)]
pub enum Selection {
    /// These items. Ids of items that are gone are ignored.
    Items(Vec<Seq>),
    /// All matching items of the inbox.
    Matching(Match),
}

/// Changes the state of a user's items and returns how many changed.
pub async fn apply(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    user: UserId,
    selection: &Selection,
    change: Change,
) -> Result<Marked> {
    match selection {
        Selection::Items(seqs) => items::apply(app, tenant, user, seqs, change).await,
        Selection::Matching(of) => bulk::apply(app, tenant, user, of, change).await,
    }
}

//! Marks: read, unread, archived, deleted, seen.
//!
//! Each is a transaction over the user's locked row. Marks of all items that match (`bulk`) sync the inbox in theirs; those of some items by
//! their ids (`items`) share one with those of others.

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

/// Which of a user's items.
#[derive(Clone, Debug)]
pub enum Selection {
    /// These; those that are gone are passed over.
    Items(Vec<Seq>),
    /// All of the inbox that match.
    Matching(Match),
}

/// Changes the state of a user's items.
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

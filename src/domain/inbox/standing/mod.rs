//! Whether an inbox is behind the log: the question before every read.
//!
//! What is shown of an inbox is the inbox as of one place in the log. Where it is not behind, that is the log's end in the
//! moment of the statement. Where it was, it has been synced since, but the log may have gone on, and what is addressed to a
//! user by name comes into an inbox without a sync: so it is cut at its cursor, up to which all is there.

mod statement;

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::sync;
use crate::app::App;
use crate::database::Party;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;
pub use crate::model::standing::Standing;

pub use statement::{IDLE_GAP, NEWEST, Reach, of, pad, push, push_cut, push_stamp};

/// What is to be done with what a statement read.
#[derive(Debug)]
pub enum Verdict {
    /// It can be shown.
    Stands,
    /// It was read by another catalogue than this one, by which it is to be read again.
    Outdated(Arc<Catalogue>),
    /// These inboxes, in the order of their ids, were behind. They have been synced, and are to be read again, up to their
    /// cursors.
    WereBehind(Vec<UserId>),
}

/// Decides whether what a statement read can be shown. If not, does what is missing: reads the newer catalogue, or syncs
/// the inboxes that are behind.
///
/// Inboxes are synced once a request: what is sent meanwhile comes after it, and a busy user is not kept waiting.
pub async fn check(app: &App, tenant: &Tenant, standings: &[Standing], catalogue: &Arc<Catalogue>) -> Result<Verdict> {
    if let Some(end) = standings.iter().map(Standing::complete_upto).max() {
        tenant.saw(end);
    }
    if standings.is_empty() {
        // They were erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    let version = standings.iter().map(|of| of.catalogue_version).max().unwrap_or(catalogue.version);
    if version != catalogue.version {
        return Ok(Verdict::Outdated(catalogue::at(app, tenant, version).await?));
    }
    let mut behind: Vec<UserId> = standings.iter().filter(|of| of.is_behind()).map(|of| of.user).collect();
    if behind.is_empty() {
        return Ok(Verdict::Stands);
    }
    behind.sort_unstable();
    behind.dedup();
    caught_up(app, tenant, &behind).await?;
    Ok(Verdict::WereBehind(behind))
}

/// Syncs inboxes, for users who wait for it. Returns how far all of them came.
pub async fn caught_up(app: &App, tenant: &Tenant, behind: &[UserId]) -> Result<Seq> {
    let synced = sync::caught_up(app, tenant, behind);
    match behind {
        // Whoever else asks for the same inbox, where its row is held, has no more than one user's share of the connections.
        [only] => Party::user(tenant.id, &format!("inbox {only}")).does(synced).await,
        _ => synced.await,
    }
}

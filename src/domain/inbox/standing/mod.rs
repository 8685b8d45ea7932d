//! Freshness: whether an inbox is behind the log. Every read checks it first.
//!
//! A read shows the inbox as of one log position. For an inbox that is not behind, that is the end of the log at the
//! time of the statement. An inbox that was behind has been synced, but the log may have grown since. Messages to a
//! named user reach the inbox without a sync, so the read stops at the cursor: up to there, the inbox is complete.

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

/// What to do with the result of a statement.
#[derive(Debug)]
pub enum Verdict {
    /// Show it.
    Stands,
    /// Read again with this newer catalogue.
    Outdated(Arc<Catalogue>),
    /// These inboxes (sorted by user id) were behind and have been synced: read them again, up to their cursors.
    WereBehind(Vec<UserId>),
}

/// Decides whether the result of a statement can be shown. If not, loads the newer catalogue or syncs the inboxes that
/// are behind.
///
/// A request syncs an inbox only once. Later notifications wait for the next request, so a busy user does not wait.
pub async fn check(app: &App, tenant: &Tenant, standings: &[Standing], catalogue: &Arc<Catalogue>) -> Result<Verdict> {
    if let Some(end) = standings.iter().map(Standing::complete_upto).max() {
        tenant.saw(end);
    }
    if standings.is_empty() {
        // The users were erased. This notes the erasure, so that a retry looks their ids up again.
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

/// Syncs inboxes while the caller waits. Returns the position that all of them reached.
pub async fn caught_up(app: &App, tenant: &Tenant, behind: &[UserId]) -> Result<Seq> {
    let synced = sync::caught_up(app, tenant, behind);
    match behind {
        // Requests that wait for the row lock of the same inbox together get one user's share of connections.
        [only] => Party::user(tenant.id, &format!("inbox {only}")).does(synced).await,
        _ => synced.await,
    }
}

//! Freshness: whether an inbox is behind the log. Every read checks it first.
//!
//! A read shows the inbox as of one log position. For an inbox that is not behind, that is the end of the log at the
//! time of the statement. An inbox that was behind has been synced, but the log may have grown since. Messages to a
//! named user reach the inbox without a sync, so the read stops at the cursor: up to there, the inbox is complete.

mod queries;

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::sync;
use crate::catalogue::{self, Catalogue};
use crate::tenant::{Tenant, load_head};
use base::error::Result;
pub use model::inbox_position::InboxPosition;
pub use queries::{
    IDLE_GAP, NEWEST, ReadBound, load_positions, pad_users, push_positions, push_read_bound, push_reader, push_versions,
};
use store::{Principal, Store};

/// What to do with the result of a statement.
#[derive(Debug)]
pub enum FreshnessVerdict {
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
pub async fn check_or_sync(
    store: &Store,
    tenant: &Tenant,
    standings: &[InboxPosition],
    catalogue: &Arc<Catalogue>,
) -> Result<FreshnessVerdict> {
    if let Some(end) = standings.iter().map(InboxPosition::complete_upto).max() {
        tenant.observe_log_end(end);
    }
    if standings.is_empty() {
        // The users were erased. This notes the erasure, so that a retry looks their ids up again.
        load_head(&store.db.read, tenant).await?;
    }
    let version = standings.iter().map(|of| of.catalogue_version).max().unwrap_or(catalogue.version);
    if version != catalogue.version {
        return Ok(FreshnessVerdict::Outdated(catalogue::load_version(store, tenant, version).await?));
    }
    let mut behind: Vec<UserId> = standings.iter().filter(|of| of.is_behind()).map(|of| of.user).collect();
    if behind.is_empty() {
        return Ok(FreshnessVerdict::Stands);
    }
    behind.sort_unstable();
    behind.dedup();
    sync_inboxes(store, tenant, &behind).await?;
    Ok(FreshnessVerdict::WereBehind(behind))
}

/// Syncs inboxes while the caller waits. Returns the position that all of them reached.
pub async fn sync_inboxes(store: &Store, tenant: &Tenant, behind: &[UserId]) -> Result<Seq> {
    let synced = sync::sync_to_end(store, tenant, behind);
    match behind {
        // Requests that wait for the row lock of the same inbox together get one user's share of connections.
        [only] => Principal::for_user(tenant.id, &format!("inbox {only}")).run_as(synced).await,
        _ => synced.await,
    }
}

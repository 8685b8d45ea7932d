//! The first step of a sync: lock the users' rows and read the end of the log.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};

use super::queries::{self, LockWait, LockedUser, LogState};
use crate::tenant::{Tenant, load_head};
use base::error::Result;
use store::Transaction;

/// Locks the users' rows in id order and reads the end of the log.
///
/// The end may have been read before the wait for the lock. That is harmless: it is still a valid log position, and the
/// next sync brings what follows.
pub(super) async fn lock_rows(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    waits: LockWait,
) -> Result<(Vec<LockedUser>, LogState)> {
    let rows: Vec<(LockedUser, LogState)> =
        queries::select_for_update(txn, tenant, users, waits).fetch_numbers(txn).await?;
    let head = if let Some((_, head)) = rows.first() {
        *head
    } else {
        // All of them were erased meanwhile, or are locked by other transactions.
        let (end, catalogue_version) = load_head(txn, tenant).await?;
        LogState { end, amended: Seq(0), catalogue_version }
    };
    Ok((rows.into_iter().map(|(locked, _)| locked).collect(), head))
}

/// The users that [`lock_rows`] did not lock.
pub(super) fn missing_users(users: &[UserId], locked: &[LockedUser]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

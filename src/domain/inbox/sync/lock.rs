//! The first step of a sync: lock the users' rows and read the end of the log.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};

use super::statement::{self, Head, Held, Locked};
use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;

/// Locks the users' rows in id order and reads the end of the log.
///
/// The end may have been read before the wait for the lock. That is harmless: it is still a valid log position, and the
/// next sync brings what follows.
pub(super) async fn lock(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    waits: Held,
) -> Result<(Vec<Locked>, Head)> {
    let rows: Vec<(Locked, Head)> = statement::lock(txn, tenant, users, waits).numbers(txn).await?;
    let head = if let Some((_, head)) = rows.first() {
        *head
    } else {
        // All of them were erased meanwhile, or are locked by other transactions.
        let (end, catalogue_version) = head(txn, tenant).await?;
        Head { end, amended: Seq(0), catalogue_version }
    };
    Ok((rows.into_iter().map(|(locked, _)| locked).collect(), head))
}

/// The users that [`lock`] did not lock.
pub(super) fn missing(users: &[UserId], locked: &[Locked]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

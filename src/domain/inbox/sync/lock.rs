//! The first of a sync: the users' rows are locked, and the end of the log is read.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};

use super::statement::{self, Head, Held, Locked};
use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;

/// Locks the users' rows, in the order of their ids, and reads the end of the log.
///
/// The end may be from before the wait for the lock. That is no harm: it is a place in the log all the same, and what
/// comes after it stays for the next time.
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
        // All of them were erased meanwhile, or are held.
        let (end, catalogue_version) = head(txn, tenant).await?;
        Head { end, amended: Seq(0), catalogue_version }
    };
    Ok((rows.into_iter().map(|(locked, _)| locked).collect(), head))
}

/// Those of the users who were not locked.
pub(super) fn missing(users: &[UserId], locked: &[Locked]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

//! The first of a sync: the users' rows are locked, and the end of the log is read.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};

use super::statement::{self, Held, Locked, Row};
use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;

/// The log when the users were locked.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub end: Seq,
    /// Its newest entry that amends an earlier one.
    pub amended: Seq,
    /// What the catalogue was then.
    pub catalogue_version: i64,
}

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
    let rows: Vec<Row> = statement::lock(txn, tenant, users, waits).rows(txn).await?;
    let head = if let Some(row) = rows.first() {
        Head { end: row.last_seq, amended: row.amended_seq, catalogue_version: row.catalogue_version }
    } else {
        // All of them were erased meanwhile, or are held.
        let (end, catalogue_version) = head(txn, tenant).await?;
        Head { end, amended: Seq(0), catalogue_version }
    };
    Ok((rows.into_iter().map(|row| row.locked).collect(), head))
}

/// Those of the users who were not locked.
pub(super) fn missing(users: &[UserId], locked: &[Locked]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

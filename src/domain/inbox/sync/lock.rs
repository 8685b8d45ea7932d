//! The first of a sync: the users' rows are locked, and the end of the log is read.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};
use entity::prelude::{Columns, ConnectionTrait};

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
    let rows = txn.query_all_raw(statement::lock(txn, tenant, users, waits).into_statement()).await?;
    let head = if let Some(row) = rows.first() {
        Head::read(row)?
    } else {
        // All of them were erased meanwhile, or are held.
        let (end, catalogue_version) = head(txn, tenant).await?;
        Head { end, amended: Seq(0), catalogue_version }
    };
    let locked = rows.iter().map(|row| Locked::read(row, 0)).collect::<std::result::Result<_, _>>()?;
    Ok((locked, head))
}

/// Those of the users who were not locked.
pub(super) fn missing(users: &[UserId], locked: &[Locked]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

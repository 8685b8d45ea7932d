//! The first of a sync: the users' rows are locked, and the end of the log is read.

use std::collections::HashSet;

use entity::ids::{Seq, UserId};

use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;
use crate::sql::Sql;

/// What becomes of users whose rows somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Awaited,
    LeftOut,
}

/// A user whose row is locked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locked {
    pub user: UserId,
    pub cursor: Seq,
    pub subscription_count: i64,
}

/// The log when the users were locked.
pub(super) struct Head {
    pub end: Seq,
    /// Its newest entry that amends an earlier one.
    pub amended: Seq,
}

/// Locks the users' rows, in the order of their ids, and reads the end of the log.
///
/// The end may be from before the wait for the lock. That is no harm: it is a place in the log all the same, and what
/// comes after it stays for the next time.
pub(super) async fn lock(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    held: Held,
) -> Result<(Vec<Locked>, Head)> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id, u.cursor_seq, u.subscription_count, (SELECT t.last_seq FROM tenant t WHERE t.id = ")
        .bind(tenant.id)
        .push(") AS last_seq, (SELECT t.amended_seq FROM tenant t WHERE t.id = ")
        .bind(tenant.id)
        .push(") AS amended_seq FROM users u WHERE u.id")
        .among(users)
        .push(" AND u.tenant_id = ")
        .bind(tenant.id)
        .push(" ORDER BY u.id");
    match held {
        Held::Awaited => sql.for_update(),
        Held::LeftOut => sql.for_update_of_free(),
    };
    let rows = sql.all(txn).await?;
    let end = match rows.first() {
        Some(row) => Head { end: row.try_get("", "last_seq")?, amended: row.try_get("", "amended_seq")? },
        // All of them were erased meanwhile, or are held.
        None => Head { end: head(txn, tenant).await?.0, amended: Seq(0) },
    };
    let locked = rows.iter().map(|row| {
        Ok(Locked {
            user: row.try_get("", "id")?,
            cursor: row.try_get("", "cursor_seq")?,
            subscription_count: row.try_get("", "subscription_count")?,
        })
    });
    Ok((locked.collect::<Result<_>>()?, end))
}

/// Those of the users who were not locked.
pub(super) fn missing(users: &[UserId], locked: &[Locked]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

//! Checks, before a write about users, that they still exist.

use std::collections::BTreeSet;

use entity::ids::UserId;
use entity::prelude::*;
use entity::user::{Column, Entity as User};
use sea_orm::Select;

use crate::tenant::{Tenant, load_head};
use base::error::{Error, Result};
use store::Transaction;

/// How often work is retried because a user was erased meanwhile: enough unless one id is erased all the time.
const TRIES: usize = 30;

/// Runs work that looks users up, and retries it if it fails with [`Error::Erased`].
pub async fn retry_if_erased<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> Result<T> {
    for _ in 0..TRIES {
        match work().await {
            Err(Error::Erased) => {}
            done => return done,
        }
    }
    Err(Error::Erased)
}

/// Keeps the users from being erased until the transaction ends. On PostgreSQL this blocks no change of their inboxes.
/// [`Error::Erased`] if one of them no longer exists.
pub async fn lock_users(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<()> {
    let users: Vec<UserId> = users.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    for users in users.chunks(LIST) {
        let held = select_ids(txn, tenant, users).order_by_asc(Column::Id).for_key_share(txn);
        if held.into_tuple::<UserId>().all(txn).await?.len() < users.len() {
            return fail_erased(txn, tenant).await;
        }
    }
    Ok(())
}

/// Those of the users that no longer exist.
pub async fn find_missing(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &BTreeSet<UserId>,
) -> Result<BTreeSet<UserId>> {
    let mut gone = users.clone();
    for users in users.iter().copied().collect::<Vec<_>>().chunks(LIST) {
        for user in select_ids(db, tenant, users).into_tuple::<UserId>().all(db).await? {
            gone.remove(&user);
        }
    }
    Ok(gone)
}

/// Fails because a user was erased. Records the number of erased users first, so that the next lookup is fresh.
pub async fn fail_erased<T>(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<T> {
    load_head(db, tenant).await?;
    Err(Error::Erased)
}

fn select_ids(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> Select<User> {
    User::keyed_of_tenant(tenant.id).filter(Column::Id.is_in_list(db, users)).select_only().column(Column::Id)
}

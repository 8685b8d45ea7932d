//! Whether those who were looked up are still users, for whoever is about to write something about them.

use std::collections::BTreeSet;

use entity::ids::UserId;
use entity::prelude::*;
use entity::user::{Column, Entity as User};
use sea_orm::Select;

use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::{Error, Result};

/// How often something begins anew because somebody whom it names was erased under it: more than enough, unless somebody
/// erases the same id all the time.
const TRIES: usize = 30;

/// Does work that looks users up, and again where it fails with [`Error::Erased`].
pub async fn again<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> Result<T> {
    for _ in 0..TRIES {
        match work().await {
            Err(Error::Erased) => {}
            done => return done,
        }
    }
    Err(Error::Erased)
}

/// Makes sure that the users stay users until the transaction ends, without keeping anybody from their inboxes on
/// PostgreSQL. [`Error::Erased`] where one of them is none any more.
pub async fn held(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<()> {
    let users: Vec<UserId> = users.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    for users in users.chunks(LIST) {
        let held = select(txn, tenant, users).order_by_asc(Column::Id).for_key_share(txn);
        if held.into_tuple::<UserId>().all(txn).await?.len() < users.len() {
            return lost(txn, tenant).await;
        }
    }
    Ok(())
}

/// Those who are no users any more.
pub async fn gone(db: &impl ConnectionTrait, tenant: &Tenant, users: &BTreeSet<UserId>) -> Result<BTreeSet<UserId>> {
    let mut gone = users.clone();
    for users in users.iter().copied().collect::<Vec<_>>().chunks(LIST) {
        for user in select(db, tenant, users).into_tuple::<UserId>().all(db).await? {
            gone.remove(&user);
        }
    }
    Ok(gone)
}

/// Fails because of somebody who was erased, having noted how many were, so that they are looked up anew.
pub async fn lost<T>(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<T> {
    head(db, tenant).await?;
    Err(Error::Erased)
}

fn select(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> Select<User> {
    User::keyed_of_tenant(tenant.id).filter(Column::Id.among(db, users)).select_only().column(Column::Id)
}

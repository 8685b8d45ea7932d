//! Whether those who were looked up are still users, for whoever is about to write something about them.

use std::collections::BTreeSet;

use entity::ids::UserId;
use sea_orm::ConnectionTrait;

use crate::database::Transaction;
use crate::domain::tenant::{Tenant, head};
use crate::error::{Error, Result};
use crate::sql::{LIST, Sql};

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
        let mut sql = select(txn, tenant, users);
        sql.push(" ORDER BY u.id").for_key_share();
        if sql.all(txn).await?.len() < users.len() {
            return lost(txn, tenant).await;
        }
    }
    Ok(())
}

/// Those who are no users any more.
pub async fn gone(db: &impl ConnectionTrait, tenant: &Tenant, users: &BTreeSet<UserId>) -> Result<BTreeSet<UserId>> {
    let mut gone = users.clone();
    for users in users.iter().copied().collect::<Vec<_>>().chunks(LIST) {
        for row in select(db, tenant, users).all(db).await? {
            gone.remove(&row.try_get("", "id")?);
        }
    }
    Ok(gone)
}

/// Fails because of somebody who was erased, having noted how many were, so that they are looked up anew.
pub async fn lost<T>(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<T> {
    head(db, tenant).await?;
    Err(Error::Erased)
}

fn select(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT u.id FROM users u WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id").among(users);
    sql
}

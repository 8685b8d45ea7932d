//! Reasons: why somebody subscribes, and to which actions that subscribes him.

use std::collections::BTreeMap;

use super::super::check;
use super::raise_version;
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::Sql;

/// The most actions of one reason.
const ACTIONS: usize = 100;

/// Makes a reason or gives it other actions; who subscribed by it before keeps what he has.
pub async fn save(app: &App, tenant: &Tenant, code: &str, actions: Vec<String>) -> Result<()> {
    check::code("code", code)?;
    check::count("actions", actions.len(), ACTIONS)?;
    if actions.is_empty() {
        return Err(Error::bad_input("actions", "must name at least one action"));
    }
    for action in &actions {
        check::code("actions", action)?;
    }
    let actions = serde_json::to_string(&actions).map_err(Error::internal)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut sql = Sql::new(txn);
        sql.push("UPDATE reason SET actions = ").bind(actions.clone());
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND code = ").bind(code);
        sql.run(txn).await?;
        let mut sql = Sql::new(txn);
        sql.push("INSERT INTO reason (tenant_id, code, actions) VALUES (").bind(tenant.id);
        sql.push(", ").bind(code).push(", ").bind(actions.clone()).push(")").or_ignore("code");
        sql.run(txn).await?;
        Ok(())
    })
}

/// Takes a reason out of the catalogue; who subscribed by it keeps what he has. False where there is none.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM reason WHERE tenant_id = ").bind(tenant.id).push(" AND code = ").bind(code);
        Ok(sql.run(txn).await? > 0)
    })
}

/// All of a tenant's.
pub(super) async fn all(app: &App, tenant: &Tenant) -> Result<BTreeMap<String, Vec<String>>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT code, actions FROM reason WHERE tenant_id = ").bind(tenant.id);
    let mut reasons = BTreeMap::new();
    for row in sql.all(&app.db.read).await? {
        let actions: String = row.try_get("", "actions")?;
        reasons.insert(row.try_get("", "code")?, serde_json::from_str(&actions).map_err(Error::internal)?);
    }
    Ok(reasons)
}

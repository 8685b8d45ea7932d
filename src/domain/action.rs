//! Actions: what happens to targets. Any string of the partner, and a row from when it is first sent or preferred.
//!
//! Whoever gets a row from here has it written down that it is in use, once an hour. So a row of which that was not said for
//! the whole retention window is in nobody's hands, and the sweep may look in peace whether anything that is kept names it.

use std::collections::{BTreeSet, HashMap};

use entity::ids::ActionId;
use sea_orm::Value;

use super::preference::Scope;
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::error::{Error, Result};
use crate::sql::{Existing, LIST, Rows, Sql, insert};

/// The most actions of a tenant.
const ACTIONS: i64 = 100_000;

/// Where a tenant has so many, preferences make no more: users who think up actions leave room for those that are sent.
const PREFERRED: i64 = 10_000;

/// `action.used_at` may lag by this much, in milliseconds.
const USED: Millis = 60 * 60 * 1000;

/// The rows of actions that are sent, made when they are first mentioned. `CONFLICT` beyond 100,000 of a tenant.
pub async fn sent(app: &App, tenant: &Tenant, codes: &[String]) -> Result<HashMap<String, ActionId>> {
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    made(app, tenant, &codes, ACTIONS).await
}

/// The rows of actions that somebody has an opinion of, made likewise; `CONFLICT` beyond 10,000 of a tenant.
pub async fn preferred(app: &App, tenant: &Tenant, codes: &[&str]) -> Result<HashMap<String, ActionId>> {
    made(app, tenant, codes, PREFERRED).await
}

/// The rows of actions; those that are missing are made, unless the tenant then had more than `most`.
async fn made(app: &App, tenant: &Tenant, codes: &[&str], most: i64) -> Result<HashMap<String, ActionId>> {
    let mut known = found(app, tenant, codes).await?;
    let missing: BTreeSet<&str> = codes.iter().filter(|code| !known.contains_key(**code)).copied().collect();
    if missing.is_empty() {
        return Ok(known);
    }
    let (missing, now) = (Vec::from_iter(missing), app.now());
    let rows = || missing.iter().map(|code| vec![Value::from(tenant.id), (*code).into(), now.into()]).collect();
    transaction!(app.db, |txn| {
        let columns = &["tenant_id", "code", "used_at"];
        insert(txn, Rows { table: "action", columns, values: rows() }, Existing::Kept).await?;
        let mut sql = Sql::new(txn);
        sql.push("SELECT count(*) AS many FROM action WHERE tenant_id = ").bind(tenant.id);
        let many: i64 = sql.one(txn).await?.map_or(Ok(0), |row| row.try_get("", "many"))?;
        if many > most {
            return Err(Error::Conflict(format!("beyond {most} actions of a tenant no new ones are made here")));
        }
        Ok(())
    })?;
    known.extend(found(app, tenant, &missing).await?);
    Ok(known)
}

/// The rows of those of the actions that there are.
pub async fn found(app: &App, tenant: &Tenant, codes: &[&str]) -> Result<HashMap<String, ActionId>> {
    let mut known = HashMap::with_capacity(codes.len());
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for code in codes {
        match app.caches.actions.get(&(tenant.id, (*code).to_owned())).await {
            Some((action, used_at)) if !is_idle(app, used_at) => drop(known.insert((*code).to_owned(), action)),
            _ => drop(unknown.insert(code)),
        }
    }
    for codes in Vec::from_iter(unknown).chunks(LIST) {
        for (code, action, used_at) in in_use(app, tenant, codes).await? {
            app.caches.actions.insert((tenant.id, code.clone()), (action, used_at)).await;
            known.insert(code, action);
        }
    }
    Ok(known)
}

/// Whether it is to be said again that an action is in use.
fn is_idle(app: &App, used_at: Millis) -> bool {
    used_at < app.now() - USED
}

/// The rows of those of the actions that there are, with when they were said to be in use. Where that was to be said first, they
/// are read once more: the sweep may have come before.
async fn in_use(app: &App, tenant: &Tenant, codes: &[&str]) -> Result<Vec<(String, ActionId, Millis)>> {
    loop {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT id, code, used_at FROM action WHERE tenant_id = ").bind(tenant.id);
        sql.push(" AND code").in_texts(codes);
        let (mut found, mut idle) = (Vec::new(), Vec::new());
        for row in sql.all(&app.db.read).await? {
            let (action, used_at) = (row.try_get("", "id")?, row.try_get("", "used_at")?);
            if is_idle(app, used_at) {
                idle.push(action);
            }
            found.push((row.try_get("", "code")?, action, used_at));
        }
        if idle.is_empty() {
            return Ok(found);
        }
        touch(app, tenant, &idle).await?;
    }
}

/// Writes down that the actions are in use.
async fn touch(app: &App, tenant: &Tenant, actions: &[ActionId]) -> Result<()> {
    if actions.is_empty() {
        return Ok(());
    }
    let now = app.now();
    transaction!(app.db, |txn| {
        let mut sql = Sql::new(txn);
        sql.push("UPDATE action SET used_at = ").bind(now).push(" WHERE tenant_id = ").bind(tenant.id);
        sql.push(" AND id").in_ids(actions).push(" AND used_at < ").bind(now);
        sql.run(txn).await
    })?;
    Ok(())
}

/// Deletes a tenant's actions that nobody used since an instant, a day ago at the latest, and that nothing names which is
/// kept. Returns how many.
pub async fn sweep(app: &App, tenant: &Tenant, since: Millis) -> Result<u64> {
    let mut swept = 0;
    let mut after = Some(String::new());
    while let Some(code) = after {
        let (last, idle) = idle(app, tenant, &code, since).await?;
        let named = named(app, tenant, &idle).await?;
        let (named, unused): (Vec<_>, Vec<_>) = idle.into_iter().partition(|action| named.contains(action));
        touch(app, tenant, &named).await?;
        swept += delete(app, tenant, &unused, since).await?;
        after = last;
    }
    Ok(swept)
}

/// Deletes actions that nobody took up meanwhile.
async fn delete(app: &App, tenant: &Tenant, actions: &[ActionId], since: Millis) -> Result<u64> {
    if actions.is_empty() {
        return Ok(0);
    }
    transaction!(app.db, |txn| {
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM action WHERE tenant_id = ").bind(tenant.id).push(" AND id").in_ids(actions);
        sql.push(" AND used_at < ").bind(since);
        sql.run(txn).await
    })
}

/// Those of the next actions after a code that nobody used since: a range of `action_code`. And the code to go on after.
async fn idle(app: &App, tenant: &Tenant, after: &str, since: Millis) -> Result<(Option<String>, Vec<ActionId>)> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT a.id, a.code, a.used_at FROM action a WHERE a.tenant_id = ").bind(tenant.id);
    sql.push(" AND a.code > ").bind(after).push(" ORDER BY a.code LIMIT ");
    sql.bind(i64::try_from(LIST).map_err(Error::internal)?);
    let rows = sql.all(&app.db.read).await?;
    let mut idle = Vec::new();
    for row in &rows {
        if row.try_get::<Millis>("", "used_at")? < since {
            idle.push(row.try_get("", "id")?);
        }
    }
    let last = rows.last().filter(|_| rows.len() == LIST).map(|row| row.try_get("", "code")).transpose()?;
    Ok((last, idle))
}

/// Those of the actions that something names: a walk over all that the tenant sent, and over all preferences.
async fn named(app: &App, tenant: &Tenant, actions: &[ActionId]) -> Result<BTreeSet<ActionId>> {
    let mut named = BTreeSet::new();
    if actions.is_empty() {
        return Ok(named);
    }
    let (tenant, scope) = (Value::from(tenant.id), Value::from(Scope::Action as i16));
    for (column, table, conditions) in [
        ("action_id", "notification", vec![("tenant_id", tenant.clone())]),
        ("subject_id", "preference", vec![("scope", scope.clone())]),
        ("subject_id", "default_preference", vec![("tenant_id", tenant), ("scope", scope)]),
    ] {
        let mut sql = Sql::new(&app.db.read);
        sql.push(&format!("SELECT DISTINCT x.{column} AS id FROM {table} x WHERE x.{column}")).in_ids(actions);
        for (of, value) in conditions {
            sql.push(&format!(" AND x.{of} = ")).bind(value);
        }
        for row in sql.all(&app.db.read).await? {
            named.insert(row.try_get("", "id")?);
        }
    }
    Ok(named)
}

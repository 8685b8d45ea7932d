//! Codes of views: which kinds of chats, feeds and pages users may join by themselves.

use std::collections::BTreeMap;

use super::super::check;
use super::raise_version;
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

/// The most codes of a tenant: the catalogue, which is kept in memory, holds them all.
const CODES: i64 = 1000;

/// A kind of views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewCode {
    pub code: String,
    /// Users may join and leave its views by themselves.
    pub is_open: bool,
}

/// Makes a code or changes it. Who is in a view of it stays.
///
/// `CONFLICT` beyond 1,000 codes.
pub async fn save(app: &App, tenant: &Tenant, ViewCode { code, is_open }: &ViewCode) -> Result<()> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let columns = &["tenant_id", "code", "is_open"];
        let values = vec![vec![tenant.id.into(), code.clone().into(), (*is_open).into()]];
        let existing = Existing::Merged { key: &["tenant_id", "code"], raised: &[], replaced: &["is_open"] };
        insert(txn, Rows { table: "view_code", columns, values }, existing).await?;
        let mut sql = Sql::new(txn);
        sql.push("SELECT count(*) AS many FROM view_code WHERE tenant_id = ").bind(tenant.id);
        let many: i64 = sql.one(txn).await?.map_or(Ok(0), |row| row.try_get("", "many"))?;
        if many > CODES {
            return Err(Error::Conflict(format!("a tenant has at most {CODES} codes of views")));
        }
        Ok(())
    })
}

/// Takes a code out of the catalogue, which closes its views; who is in one stays. False where there is none.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM view_code WHERE tenant_id = ").bind(tenant.id).push(" AND code = ").bind(code);
        Ok(sql.run(txn).await? > 0)
    })
}

/// All of a tenant's.
pub(super) async fn all(app: &App, tenant: &Tenant) -> Result<BTreeMap<String, bool>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT code, is_open FROM view_code WHERE tenant_id = ").bind(tenant.id);
    let rows = sql.all(&app.db.read).await?;
    rows.iter().map(|row| Ok((row.try_get("", "code")?, row.try_get("", "is_open")?))).collect()
}

//! Codes of views: which kinds of chats, feeds and pages users may join by themselves.

use std::collections::BTreeMap;

use entity::prelude::*;
use entity::view_code::{Column, Entity as Code};

use super::version::raise_version;
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::check;

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
        raise_version(txn, tenant, app.now()).await?;
        let columns = [Column::TenantId, Column::Code, Column::IsOpen];
        let existing = Existing::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, vec![[tenant.id.into(), code.clone().into(), (*is_open).into()]], existing).await?;
        let many = Code::of_tenant(tenant.id).count_rows(txn).await?;
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
        raise_version(txn, tenant, app.now()).await?;
        let delete = Code::delete_of_tenant(tenant.id).filter(Column::Code.eq(code));
        Ok(delete.exec(txn).await?.rows_affected > 0)
    })
}

/// All of a tenant's.
pub(super) async fn all(app: &App, tenant: &Tenant) -> Result<BTreeMap<String, bool>> {
    let codes = Code::of_tenant(tenant.id).all(&app.db.read).await?;
    Ok(codes.into_iter().map(|of| (of.code, of.is_open)).collect())
}

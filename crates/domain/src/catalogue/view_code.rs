//! View codes: the kinds of chats, feeds and pages that users may join by themselves.

use std::collections::BTreeMap;

use entity::prelude::*;
use entity::view_code::{Column, Entity as Code};

use super::version::increment_version;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use model::validate;
use store::{Store, transaction};

/// Maximum view codes of a tenant. The cached catalogue holds them all.
const CODES: i64 = 1000;

/// A kind of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewCode {
    pub code: String,
    /// Whether users may join and leave its views by themselves.
    pub is_open: bool,
}

/// Creates or changes a view code. Members of its views stay.
///
/// `CONFLICT` beyond 1,000 codes.
pub async fn save(store: &Store, tenant: &Tenant, ViewCode { code, is_open }: &ViewCode) -> Result<()> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let columns = [Column::TenantId, Column::Code, Column::IsOpen];
        let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, vec![[tenant.id.into(), code.clone().into(), (*is_open).into()]], existing).await?;
        let many = Code::of_tenant(tenant.id).count_rows(txn).await?;
        if many > CODES {
            return Err(Error::Conflict(format!("a tenant has at most {CODES} codes of views")));
        }
        Ok(())
    })
}

/// Deletes a view code, which closes its views; their members stay. Returns false if there is no such code.
pub async fn delete(store: &Store, tenant: &Tenant, code: &str) -> Result<bool> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let delete = Code::delete_of_tenant(tenant.id).filter(Column::Code.eq(code));
        Ok(delete.exec(txn).await?.rows_affected > 0)
    })
}

/// All view codes of a tenant.
pub(super) async fn load_all(store: &Store, tenant: &Tenant) -> Result<BTreeMap<String, bool>> {
    let codes = Code::of_tenant(tenant.id).all(&store.db.read).await?;
    Ok(codes.into_iter().map(|of| (of.code, of.is_open)).collect())
}

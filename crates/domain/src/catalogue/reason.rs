//! Reasons to subscribe, each with the actions that it subscribes a user to.

use std::collections::BTreeMap;

use entity::prelude::*;
use entity::reason::{Column, Entity as Reason};

use super::version::increment_version;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use model::validate;
use store::{Store, transaction};

/// Maximum actions of one reason.
const ACTIONS: usize = 100;

/// Creates a reason or changes its actions. Existing subscriptions stay as they are.
pub async fn save(store: &Store, tenant: &Tenant, code: &str, actions: Vec<String>) -> Result<()> {
    validate::identifier("code", code)?;
    validate::at_most("actions", actions.len(), ACTIONS)?;
    if actions.is_empty() {
        return Err(Error::bad_input("actions", "must name at least one action"));
    }
    validate::identifiers("actions", &actions)?;
    let actions = serde_json::to_string(&actions).map_err(Error::internal)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let columns = [Column::TenantId, Column::Code, Column::Actions];
        let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, vec![[tenant.id.into(), code.into(), actions.clone().into()]], existing).await?;
        Ok(())
    })
}

/// Deletes a reason. Existing subscriptions stay. Returns false if there is no such reason.
pub async fn delete(store: &Store, tenant: &Tenant, code: &str) -> Result<bool> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let delete = Reason::delete_of_tenant(tenant.id).filter(Column::Code.eq(code));
        Ok(delete.exec(txn).await?.rows_affected > 0)
    })
}

/// All reasons of a tenant, with their actions.
pub(super) async fn load_all(store: &Store, tenant: &Tenant) -> Result<BTreeMap<String, Vec<String>>> {
    let reasons = Reason::of_tenant(tenant.id).all(&store.db.read).await?.into_iter();
    reasons.map(|of| Ok((of.code, serde_json::from_str(&of.actions).map_err(Error::internal)?))).collect()
}

//! Target types: which kinds of targets users may subscribe to by themselves, and whether they may follow each other.

use std::collections::BTreeMap;

use entity::prelude::*;
use entity::target_type::{Column, Entity as Type, SubscriptionPolicy};
use entity::tenant;

use super::version::increment_version;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use model::validate;
use store::{Store, transaction};

/// Maximum target types of a tenant. The cached catalogue holds them all.
const TARGET_TYPES: i64 = 1000;

/// A kind of target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetType {
    pub code: String,
    pub subscription_policy: SubscriptionPolicy,
}

/// Creates or changes a target type. Existing subscriptions stay as they are.
///
/// `CONFLICT` beyond 1,000 target types.
pub async fn save(store: &Store, tenant: &Tenant, TargetType { code, subscription_policy }: &TargetType) -> Result<()> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let columns = [Column::TenantId, Column::Code, Column::SubscriptionPolicy];
        let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        let row = [tenant.id.into(), code.clone().into(), (*subscription_policy).into()];
        insert(txn, columns, vec![row], existing).await?;
        if Type::of_tenant(tenant.id).count_rows(txn).await? > TARGET_TYPES {
            return Err(Error::Conflict(format!("a tenant has at most {TARGET_TYPES} target types")));
        }
        Ok(())
    })
}

/// Deletes a target type, so that users can no longer subscribe to its targets by themselves. Existing subscriptions
/// stay. Returns false if there is no such type.
pub async fn delete(store: &Store, tenant: &Tenant, code: &str) -> Result<bool> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let delete = Type::delete_of_tenant(tenant.id).filter(Column::Code.eq(code));
        Ok(delete.exec(txn).await?.rows_affected > 0)
    })
}

/// Sets whether users may follow others by themselves. Existing follows stay as they are.
pub async fn save_follow_policy(store: &Store, tenant: &Tenant, policy: SubscriptionPolicy) -> Result<()> {
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let update = tenant::Entity::update_of_tenant(tenant.id);
        update.col_expr(tenant::Column::FollowPolicy, Expr::val(policy)).exec(txn).await?;
        Ok(())
    })
}

/// All target types of a tenant, with their policies.
pub(super) async fn load_all(store: &Store, tenant: &Tenant) -> Result<BTreeMap<String, SubscriptionPolicy>> {
    let types = Type::of_tenant(tenant.id).all(&store.db.read).await?;
    Ok(types.into_iter().map(|of| (of.code, of.subscription_policy)).collect())
}

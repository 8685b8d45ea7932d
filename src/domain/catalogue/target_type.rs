//! Target types: which kinds of targets users may subscribe to by themselves, and whether they may follow each other.

use std::collections::BTreeMap;

use entity::prelude::*;
use entity::target_type::{Column, Entity as Type, SubscriptionPolicy};
use entity::tenant;

use super::version::increment_version;
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::check;

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
pub async fn save(app: &App, tenant: &Tenant, TargetType { code, subscription_policy }: &TargetType) -> Result<()> {
    check::identifier("code", code)?;
    transaction!(app.db, |txn| {
        increment_version(txn, tenant, app.now()).await?;
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
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::identifier("code", code)?;
    transaction!(app.db, |txn| {
        increment_version(txn, tenant, app.now()).await?;
        let delete = Type::delete_of_tenant(tenant.id).filter(Column::Code.eq(code));
        Ok(delete.exec(txn).await?.rows_affected > 0)
    })
}

/// Sets whether users may follow others by themselves. Existing follows stay as they are.
pub async fn save_follow_policy(app: &App, tenant: &Tenant, policy: SubscriptionPolicy) -> Result<()> {
    transaction!(app.db, |txn| {
        increment_version(txn, tenant, app.now()).await?;
        let update = tenant::Entity::update_of_tenant(tenant.id);
        update.col_expr(tenant::Column::FollowPolicy, Expr::val(policy)).exec(txn).await?;
        Ok(())
    })
}

/// All target types of a tenant, with their policies.
pub(super) async fn load_all(app: &App, tenant: &Tenant) -> Result<BTreeMap<String, SubscriptionPolicy>> {
    let types = Type::of_tenant(tenant.id).all(&app.db.read).await?;
    Ok(types.into_iter().map(|of| (of.code, of.subscription_policy)).collect())
}

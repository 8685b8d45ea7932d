//! The version that tells an outdated cached catalogue from the current one.

use entity::prelude::*;
use entity::tenant::{self, Column};

use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
use store::Transaction;

/// Increments the catalogue version and notifies every node. Call it in the transaction that changes the catalogue.
///
/// It locks the tenant's row, so catalogue changes and sends run one after the other.
pub async fn increment_version(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<()> {
    let raise = next_version(Column::CatalogueVersion, now);
    tenant::Entity::update_of_tenant(tenant.id).col_expr(Column::CatalogueVersion, raise).exec(txn).await?;
    txn.notify(Notice { catalogue: true, ..Notice::for_tenant(tenant.id) });
    Ok(())
}

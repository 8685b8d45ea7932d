//! By what a cached catalogue is told from a newer one.

use entity::prelude::*;
use entity::tenant::{self, Column};

use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::hub::Notice;

/// Tells every node that the catalogue is another; call it in the transaction that changes it.
///
/// It locks the tenant's row, so that changes of the catalogue and sends come one after the other.
pub async fn raise_version(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<()> {
    let raise = next_version(Column::CatalogueVersion, now);
    tenant::Entity::update_of_tenant(tenant.id).col_expr(Column::CatalogueVersion, raise).exec(txn).await?;
    txn.tell(Notice { catalogue: true, ..Notice::of(tenant.id) });
    Ok(())
}

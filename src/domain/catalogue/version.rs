//! By what a cached catalogue is told from a newer one.

use entity::prelude::*;
use entity::tenant::{self, Column};
use sea_orm::sea_query::ExprTrait;

use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::hub::Notice;

/// Tells every node that the catalogue is another; call it in the transaction that changes it.
///
/// It locks the tenant's row, so that changes of the catalogue and sends come one after the other.
pub async fn raise_version(txn: &Transaction, tenant: &Tenant) -> Result<()> {
    let raise = Expr::col(Column::CatalogueVersion).add(1);
    tenant::Entity::update_of_tenant(tenant.id).col_expr(Column::CatalogueVersion, raise).exec(txn).await?;
    txn.tell(Notice { catalogue: true, ..Notice::of(tenant.id) });
    Ok(())
}

//! Deletes deliveries past the retention window, and seals secrets again after the key was replaced.

use entity::delivery::{Column, Entity as Deliveries};
use entity::destination::{self, Entity as Destinations};
use entity::prelude::*;

use super::vault_owner;
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use store::{Store, transaction};

/// Deletes a tenant's deliveries created before `before`, in steps, from the beginning of `delivery_tenant` to the
/// first newer one. Returns how many.
pub async fn delete_old_deliveries(store: &Store, tenant: &Tenant, before: Millis) -> Result<u64> {
    let mut swept = 0;
    loop {
        let many = transaction!(store.db, |txn| {
            let first = Deliveries::of_tenant(tenant.id).order_by_asc(Column::Id).limit(LIST as u64).select_only();
            let first = first.columns([Column::Id, Column::CreatedAt]).into_tuple::<(i64, Millis)>().all(txn).await?;
            let old = first.iter().take_while(|(_, created_at)| *created_at < before);
            let old: Vec<i64> = old.map(|(id, _)| *id).collect();
            Ok(Deliveries::delete_many().filter(Column::Id.is_in_list(txn, &old)).exec(txn).await?.rows_affected)
        })?;
        swept += many;
        if many < LIST as u64 {
            return Ok(swept);
        }
    }
}

/// Seals secrets that still use the previous key with the current one, so that the previous key can be removed. A
/// secret that no key opens stays as it is; the function seals the others and then returns the first error.
pub async fn reseal_secrets(context: &DeliveryContext, tenant: &Tenant) -> Result<()> {
    use destination::Column;
    if context.vault.require_key().is_err() {
        return Ok(());
    }
    let mut failed = Ok(());
    for of in Destinations::of_tenant(tenant.id).all(&context.db.read).await? {
        let sealed = [
            (Column::Secret, Some(of.secret)),
            (Column::PreviousSecret, of.previous_secret),
            (Column::Token, of.token),
        ];
        for (column, sealed) in sealed {
            let Some(sealed) = sealed else { continue };
            let renewed = match context.vault.reseal(&vault_owner(tenant, of.id), &sealed) {
                Ok(renewed) => renewed,
                Err(error) => {
                    failed = failed.and(Err(error));
                    continue;
                }
            };
            let Some(renewed) = renewed else { continue };
            transaction!(context.db, |txn| {
                let to = Destinations::update_of_tenant(tenant.id).col_expr(column, Expr::val(renewed.as_str()));
                let to = to.filter(Column::Id.eq(of.id)).filter(column.eq(sealed.as_str()));
                Ok(to.exec(txn).await?.rows_affected)
            })?;
        }
    }
    failed
}

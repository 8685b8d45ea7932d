//! Pauses, resumes, deletes and changes destinations.

use entity::delivery::{self, Entity as Deliveries};
use entity::destination::{Column, Entity as Destinations};
use entity::ids::Seq;
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};
use sea_orm::UpdateMany;

use super::{Destination, DestinationKind, DestinationState, get_by_id, not_found_error};
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use store::{Store, Transaction, transaction};

/// Stops sending. After `resume`, the destination also gets what happened meanwhile, as far as the log goes back.
pub async fn pause(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<Destination> {
    transaction!(store.db, |txn| {
        let (_, to) = lock_for_update(txn, store, tenant, kind, id).await?;
        to.col_expr(Column::State, Expr::val(DestinationState::Paused)).exec(txn).await?;
        Ok(())
    })?;
    get_by_id(store, tenant, kind, id).await
}

/// Sends again, starting with the deliveries that are due. Also ends a back-off or the disabled state.
pub async fn resume(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<Destination> {
    transaction!(store.db, |txn| {
        let (_, to) = lock_for_update(txn, store, tenant, kind, id).await?;
        reset_failures(to, store.now()).col_expr(Column::State, Expr::val(DestinationState::Active)).exec(txn).await?;
        Ok(())
    })?;
    get_by_id(store, tenant, kind, id).await
}

/// Deletes a destination and all its deliveries, in steps. Returns whether it existed.
pub async fn delete(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<bool> {
    let (is_gone, is_anothers) = transaction!(store.db, |txn| {
        let gone = Destinations::delete_of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
        let is_gone = gone.exec(txn).await?.rows_affected > 0;
        Ok((is_gone, Destinations::of_tenant(tenant.id).filter(Column::Id.eq(id)).count_rows(txn).await? > 0))
    })?;
    if is_anothers {
        return Ok(false);
    }
    // This runs even if the row is already gone, to finish a deletion that was interrupted.
    loop {
        let many = transaction!(store.db, |txn| {
            use delivery::Column;
            let of = Deliveries::of_tenant(tenant.id).filter(Column::LaneId.eq(id)).select_only().column(Column::Id);
            let ids: Vec<i64> = of.limit(LIST as u64).into_tuple().all(txn).await?;
            Deliveries::delete_many().filter(Column::Id.is_in_list(txn, &ids)).exec(txn).await?;
            Ok(ids.len())
        })?;
        if many < LIST {
            return Ok(is_gone);
        }
    }
}

/// Locks a destination and begins a statement that changes it. The new `updated_at` tells its worker to reload.
pub async fn lock_for_update(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    kind: DestinationKind,
    id: i64,
) -> Result<(Destination, UpdateMany<Destinations>)> {
    let of = Destinations::of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
    let of = of.for_update(txn).one(txn).await?.ok_or_else(|| not_found_error(kind))?;
    let updated_at = store.now().max(of.updated_at + 1);
    let to = Destinations::update_of_tenant(tenant.id).col_expr(Column::UpdatedAt, Expr::val(updated_at));
    Ok((of, to.filter(Column::Id.eq(id))))
}

/// Clears the failure history and makes the destination due now.
pub fn reset_failures(to: UpdateMany<Destinations>, now: Millis) -> UpdateMany<Destinations> {
    let to = to.col_expr(Column::Failures, Expr::val(0_i64)).col_expr(Column::OpenUntil, Expr::val(0_i64));
    to.col_expr(Column::FailingSince, Expr::val(None::<Millis>)).col_expr(Column::DueAt, Expr::val(now))
}

/// Where a new destination starts in the log: at the end, so it gets nothing older. Locks the tenant's row, so that
/// concurrent creations wait for each other and can count the existing destinations.
pub async fn lock_log_end(txn: &Transaction, tenant: &Tenant) -> Result<Seq> {
    let end =
        Tenants::of_tenant(tenant.id).for_update(txn).select_only().column(tenant::Column::LastSeq).into_tuple::<Seq>();
    Ok(end.one(txn).await?.unwrap_or_default())
}

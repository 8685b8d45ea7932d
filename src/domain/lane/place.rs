//! Lanes are paused, resumed and deleted, and changed by those who know what they are.

use entity::delivery::{self, Entity as Deliveries};
use entity::ids::Seq;
use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};
use sea_orm::UpdateMany;

use super::{Kind, Lane, State, known, none};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// Sends nothing more for now. What happens meanwhile is sent when it is resumed, as far as the log goes back.
pub async fn pause(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Lane> {
    transaction!(app.db, |txn| {
        let (_, to) = changed(txn, app, tenant, kind, id).await?;
        to.col_expr(Column::State, Expr::val(State::Paused)).exec(txn).await?;
        Ok(())
    })?;
    known(app, tenant, kind, id).await
}

/// Sends again, at once, what is due: also along one that was disabled, or is left alone for a while since it has failed.
pub async fn resume(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Lane> {
    transaction!(app.db, |txn| {
        let (_, to) = changed(txn, app, tenant, kind, id).await?;
        anew(to, app.now()).col_expr(Column::State, Expr::val(State::Active)).exec(txn).await?;
        Ok(())
    })?;
    known(app, tenant, kind, id).await
}

/// Deletes a lane with all that was to be sent or was sent along it, in steps. Returns whether there was one.
pub async fn delete(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<bool> {
    let (is_gone, is_anothers) = transaction!(app.db, |txn| {
        let gone = Lanes::delete_of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
        let is_gone = gone.exec(txn).await?.rows_affected > 0;
        Ok((is_gone, Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).count_rows(txn).await? > 0))
    })?;
    if is_anothers {
        return Ok(false);
    }
    // Also of one that is gone already, whose deletion did not come to its end.
    loop {
        let many = transaction!(app.db, |txn| {
            use delivery::Column;
            let of = Deliveries::of_tenant(tenant.id).filter(Column::LaneId.eq(id)).select_only().column(Column::Id);
            let ids: Vec<i64> = of.limit(LIST as u64).into_tuple().all(txn).await?;
            Deliveries::delete_many().filter(Column::Id.among(txn, &ids)).exec(txn).await?;
            Ok(ids.len())
        })?;
        if many < LIST {
            return Ok(is_gone);
        }
    }
}

/// Locks a lane, and begins a statement that changes it; whoever is at it sees that it has changed.
pub async fn changed(
    txn: &Transaction,
    app: &App,
    tenant: &Tenant,
    kind: Kind,
    id: i64,
) -> Result<(Lane, UpdateMany<Lanes>)> {
    let of = Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
    let of = of.for_update(txn).one(txn).await?.ok_or_else(|| none(kind))?;
    let updated_at = app.now().max(of.updated_at + 1);
    let to = Lanes::update_of_tenant(tenant.id).col_expr(Column::UpdatedAt, Expr::val(updated_at));
    Ok((of, to.filter(Column::Id.eq(id))))
}

/// As if it had never failed.
pub fn anew(to: UpdateMany<Lanes>, now: Millis) -> UpdateMany<Lanes> {
    let to = to.col_expr(Column::Failures, Expr::val(0_i64)).col_expr(Column::OpenUntil, Expr::val(0_i64));
    to.col_expr(Column::FailingSince, Expr::val(None::<Millis>)).col_expr(Column::DueAt, Expr::val(now))
}

/// Where a new lane begins in the log: what was published before is not its business. Whoever makes another one waits until this
/// transaction ends, so that they are counted.
pub async fn end_of_log(txn: &Transaction, tenant: &Tenant) -> Result<Seq> {
    let end =
        Tenants::of_tenant(tenant.id).for_update(txn).select_only().column(tenant::Column::LastSeq).into_tuple::<Seq>();
    Ok(end.one(txn).await?.unwrap_or_default())
}

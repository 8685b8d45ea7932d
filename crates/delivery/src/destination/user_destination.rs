//! Destinations that reach users. A tenant has at most one of each kind.

use entity::destination::{ActiveModel, Column, Entity as Destinations};
use entity::prelude::*;
use sea_orm::UpdateMany;

use super::link::check_base_url;
use super::{
    Destination, DestinationKind, DestinationState, list_by_kind, lock_destinations, lock_for_update, lock_log_end,
    not_found_error, reset_failures,
};
use crate::DeliveryContext;
use base::error::Result;
use domain::tenant::Tenant;
use domain::{catalogue, notification};
use model::alarm::AlarmTarget;
use store::{Store, Transaction};

/// The settings that all of these kinds share.
#[derive(Clone, Debug)]
pub struct DestinationSettings {
    /// The base for links that are paths: an absolute http(s) URL.
    pub link_base: Option<String>,
    pub alarm: Option<AlarmTarget>,
}

/// The tenant's destination of this kind. `None` if it has none.
pub async fn find_single(store: &Store, tenant: &Tenant, kind: DestinationKind) -> Result<Option<Destination>> {
    Ok(list_by_kind(store, tenant, kind).await?.pop())
}

/// The tenant's destination of this kind. `NOT_FOUND` if it has none.
pub async fn get_single(store: &Store, tenant: &Tenant, kind: DestinationKind) -> Result<Destination> {
    find_single(store, tenant, kind).await?.ok_or_else(|| not_found_error(kind))
}

impl DestinationSettings {
    /// Validates the settings. `CONFLICT` if the server has no key to seal secrets with, which every destination needs.
    pub async fn check(&self, context: &DeliveryContext, tenant: &Tenant) -> Result<()> {
        context.vault.require_key()?;
        if let Some(base) = &self.link_base {
            check_base_url(base)?;
        }
        if let Some(alarm) = &self.alarm {
            let catalogue = catalogue::load_current(context, tenant).await?;
            notification::check_alarm(context, tenant, &catalogue, alarm).await?;
        }
        Ok(())
    }

    /// Creates the tenant's destination of this kind if it has none. Returns the row as it was, and a statement that
    /// saves these settings and makes the destination due now.
    pub async fn save(
        &self,
        txn: &Transaction,
        store: &Store,
        tenant: &Tenant,
        kind: DestinationKind,
    ) -> Result<(Destination, UpdateMany<Destinations>)> {
        let id = find_or_create_row(txn, store, tenant, kind).await?;
        let (alarm_type, alarm_group) = self.alarm.clone().map(|of| (of.message_type, of.group)).unzip();
        let (of, to) = lock_for_update(txn, store, tenant, kind, id).await?;
        let to = reset_failures(to, store.now()).col_expr(Column::LinkBase, Expr::val(self.link_base.clone()));
        let to = to.col_expr(Column::AlarmType, Expr::val(alarm_type));
        Ok((of, to.col_expr(Column::AlarmGroup, Expr::val(alarm_group))))
    }
}

/// The id of the row. Creates one without settings if there is none.
async fn find_or_create_row(txn: &Transaction, store: &Store, tenant: &Tenant, kind: DestinationKind) -> Result<i64> {
    // A concurrent caller waits here, and then finds the row.
    let end = lock_log_end(txn, tenant).await?;
    if let Some(of) = lock_destinations(txn, tenant.id, kind).await?.first() {
        return Ok(of.id);
    }
    let made = ActiveModel {
        tenant_id: Set(tenant.id),
        kind: Set(kind),
        url: Set(String::new()),
        events: Set(0),
        is_full: Set(true),
        secret: Set(String::new()),
        state: Set(DestinationState::Active),
        cursor_seq: Set(end),
        created_at: Set(store.now()),
        updated_at: Set(store.now()),
        ..Default::default()
    };
    Ok(Destinations::insert(made).exec(txn).await?.last_insert_id)
}

//! Lanes to users, of which a tenant has one of each kind.

use entity::lane::{ActiveModel, Column, Entity as Lanes};
use entity::prelude::*;
use sea_orm::UpdateMany;

use super::link::check_base;
use super::{Kind, Lane, State, all, anew, changed, end_of_log, lock_all, none};
use crate::app::App;
use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::domain::{catalogue, notification};
use crate::error::Result;
use crate::model::alarm::Alarm;

/// What is said of each of them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What links of notifications that are paths belong to: an absolute http(s) URL.
    pub link_base: Option<String>,
    pub alarm: Option<Alarm>,
}

/// The tenant's lane of a kind; nothing where it has none.
pub async fn only(app: &App, tenant: &Tenant, kind: Kind) -> Result<Option<Lane>> {
    Ok(all(app, tenant, kind).await?.pop())
}

/// The same; `NOT_FOUND` where it has none.
pub async fn only_known(app: &App, tenant: &Tenant, kind: Kind) -> Result<Lane> {
    only(app, tenant, kind).await?.ok_or_else(|| none(kind))
}

impl Settings {
    /// `CONFLICT` where the server cannot keep secrets, which all of them have.
    pub async fn check(&self, app: &App, tenant: &Tenant) -> Result<()> {
        app.vault.check()?;
        if let Some(base) = &self.link_base {
            check_base(base)?;
        }
        if let Some(alarm) = &self.alarm {
            let catalogue = catalogue::current(app, tenant).await?;
            notification::check_alarm(app, tenant, &catalogue, alarm).await?;
        }
        Ok(())
    }

    /// Begins a statement that gives them to the tenant's lane of a kind, which is made where there is none, and has it tried at once; how
    /// it was before.
    pub async fn save(
        &self,
        txn: &Transaction,
        app: &App,
        tenant: &Tenant,
        kind: Kind,
    ) -> Result<(Lane, UpdateMany<Lanes>)> {
        let id = row(txn, app, tenant, kind).await?;
        let (alarm_type, alarm_group) = self.alarm.clone().map(|of| (of.message_type, of.group)).unzip();
        let (of, to) = changed(txn, app, tenant, kind, id).await?;
        let to = anew(to, app.now()).col_expr(Column::LinkBase, Expr::val(self.link_base.clone()));
        let to = to.col_expr(Column::AlarmType, Expr::val(alarm_type));
        Ok((of, to.col_expr(Column::AlarmGroup, Expr::val(alarm_group))))
    }
}

/// The row, which is made where there is none: its settings are yet to be said.
async fn row(txn: &Transaction, app: &App, tenant: &Tenant, kind: Kind) -> Result<i64> {
    // Who makes one at the same time waits here, and then finds it.
    let end = end_of_log(txn, tenant).await?;
    if let Some(of) = lock_all(txn, tenant.id, kind).await?.first() {
        return Ok(of.id);
    }
    let made = ActiveModel {
        tenant_id: Set(tenant.id),
        kind: Set(kind),
        url: Set(String::new()),
        events: Set(0),
        is_full: Set(true),
        secret: Set(String::new()),
        state: Set(State::Active),
        cursor_seq: Set(end),
        created_at: Set(app.now()),
        updated_at: Set(app.now()),
        ..Default::default()
    };
    Ok(Lanes::insert(made).exec(txn).await?.last_insert_id)
}

//! Disables destinations and alarms their tenant.

use entity::ids::TenantId;
use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;

use super::{Carrier, Kind, Lane, State, alarm_of, noun};
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::notification::{self, Content, Raising};
use crate::domain::tenant::Tenant;
use crate::egress::origin;
use crate::error::Result;
use crate::model::seal;

/// Why a destination is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It answered that it will never accept anything again.
    Gone,
    /// It failed for five days.
    Hopeless,
}

impl Why {
    fn words(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Gone, Kind::WeChat) => "WeChat answered that the account may not send, or that its secret is wrong",
            (Self::Gone, _) => "it answered with status 410 (gone), so it wants no more deliveries",
            (Self::Hopeless, _) => "all its deliveries have failed for five days",
        }
    }
}

/// Prepares the alarm that a destination is disabled. If that fails, logs it and returns nothing to send.
pub(super) async fn alarm(app: &App, tenant: &Tenant, lane: &Lane, why: Why) -> Raising {
    let id = tenant.seal.close(seal::Kind::Lane, 0, lane.id);
    tracing::warn!(tenant = tenant.code, lane = id, cause = why.words(lane.kind), "a {} is disabled", noun(lane.kind));
    let Some(to) = alarm_of(lane) else { return Raising::default() };
    // Only the origin: the rest of an endpoint's URL may identify us to the receiver, and is for operators only.
    let (name, origin) = match lane.kind {
        Kind::Webhook => ("endpoint", origin(&lane.url)),
        Kind::Email => ("relay", lane.url.clone()),
        Kind::WeChat => ("account", lane.sender.clone().unwrap_or_default()),
        Kind::WebPush => ("webPush", lane.sender.clone().unwrap_or_default()),
    };
    let params = serde_json::json!({ name: id, "origin": origin, "error": lane.last_error });
    let content = Content {
        title: Some(format!("A {} is disabled", noun(lane.kind))),
        body: Some(format!("{origin}: {}", why.words(lane.kind))),
        params: Some(params),
        ..Content::default()
    };
    notification::alarming(app, tenant, &to, content).await.unwrap_or_else(|error| {
        tracing::warn!(tenant = tenant.code, lane = id, cause = error.told(), "could not send the alarm");
        Raising::default()
    })
}

/// Disables a destination. The caller has locked all of the tenant's destinations of this kind.
pub(super) async fn disable<C: Carrier>(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Lane],
    id: i64,
    now: Millis,
) -> Result<()> {
    let off = Lanes::update_many().col_expr(Column::State, Expr::val(State::Disabled));
    off.filter(Column::Id.eq(id)).exec(txn).await?;
    C::disabled(txn, tenant, all, id, now).await
}

/// Makes destinations due now.
pub async fn wake(txn: &Transaction, tenant: TenantId, ids: &[i64], now: Millis) -> Result<()> {
    let due = Lanes::update_of_tenant(tenant).col_expr(Column::DueAt, Expr::val(now));
    due.filter(Column::Id.among(txn, ids)).exec(txn).await?;
    Ok(())
}

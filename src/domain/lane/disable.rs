//! A lane that is given up: its tenant is told.

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

/// Why it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It has answered that it takes nothing for good.
    Gone,
    /// It has failed for five days.
    Hopeless,
}

impl Why {
    fn words(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Gone, Kind::WeChat) => "WeChat has answered that it may not send, or has another secret",
            (Self::Gone, _) => "it has answered with status 410, which says that it wants nothing any more",
            (Self::Hopeless, _) => "it has failed for five days",
        }
    }
}

/// What the lane's alarm says. Where that cannot be sent, the log says so.
pub(super) async fn alarm(app: &App, tenant: &Tenant, lane: &Lane, why: Why) -> Raising {
    let id = tenant.seal.close(seal::Kind::Lane, 0, lane.id);
    tracing::warn!(tenant = tenant.code, lane = id, cause = why.words(lane.kind), "a {} is disabled", noun(lane.kind));
    let Some(to) = alarm_of(lane) else { return Raising::default() };
    // The rest of an endpoint's URL may be what the receiver knows us by, and is for operators alone.
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
        tracing::warn!(tenant = tenant.code, lane = id, cause = error.told(), "nobody can be told");
        Raising::default()
    })
}

/// Disables a lane. All of the tenant's of its kind are locked.
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

/// Makes lanes due.
pub async fn wake(txn: &Transaction, tenant: TenantId, ids: &[i64], now: Millis) -> Result<()> {
    let due = Lanes::update_of_tenant(tenant).col_expr(Column::DueAt, Expr::val(now));
    due.filter(Column::Id.among(txn, ids)).exec(txn).await?;
    Ok(())
}

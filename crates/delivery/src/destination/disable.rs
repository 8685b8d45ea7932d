//! Disables destinations and alarms their tenant.

use entity::destination::{Column, Entity as Destinations};
use entity::ids::TenantId;
use entity::prelude::*;

use super::{Destination, DestinationKind, DestinationState, Transport, alarm_settings, kind_noun};
use base::clock::Millis;
use base::error::Result;
use domain::notification::{self, NotificationContent, PreparedSend};
use domain::tenant::Tenant;
use model::id_cipher;
use outside::egress::safe_origin;
use store::{Store, Transaction};

/// Why a destination is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisableReason {
    /// It answered that it will never accept anything again.
    Gone,
    /// It failed for five days.
    Hopeless,
}

impl DisableReason {
    fn reason_text(self, kind: DestinationKind) -> &'static str {
        match (self, kind) {
            (Self::Gone, DestinationKind::WeChat) => {
                "WeChat answered that the account may not send, or that its secret is wrong"
            }
            (Self::Gone, _) => "it answered with status 410 (gone), so it wants no more deliveries",
            (Self::Hopeless, _) => "all its deliveries have failed for five days",
        }
    }
}

/// Prepares the alarm that a destination is disabled. If that fails, logs it and returns nothing to send.
pub(super) async fn prepare_alarm(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    why: DisableReason,
) -> PreparedSend {
    let id = tenant.id_cipher.encode(id_cipher::IdKind::Destination, 0, destination.id);
    tracing::warn!(
        tenant = tenant.code,
        destination = id,
        cause = why.reason_text(destination.kind),
        "a {} is disabled",
        kind_noun(destination.kind)
    );
    let Some(to) = alarm_settings(destination) else { return PreparedSend::default() };
    // Only the origin: the rest of an endpoint's URL may identify us to the receiver, and is for operators only.
    let (name, origin) = match destination.kind {
        DestinationKind::Webhook => ("endpoint", safe_origin(&destination.url)),
        DestinationKind::Email => ("relay", destination.url.clone()),
        DestinationKind::WeChat => ("account", destination.sender.clone().unwrap_or_default()),
        DestinationKind::WebPush => ("webPush", destination.sender.clone().unwrap_or_default()),
    };
    let params = serde_json::json!({ name: id, "origin": origin, "error": destination.last_error });
    let content = NotificationContent {
        title: Some(format!("A {} is disabled", kind_noun(destination.kind))),
        body: Some(format!("{origin}: {}", why.reason_text(destination.kind))),
        params: Some(params),
        ..NotificationContent::default()
    };
    notification::prepare_alarm(store, tenant, &to, content).await.unwrap_or_else(|error| {
        tracing::warn!(tenant = tenant.code, destination = id, cause = error.log_message(), "could not send the alarm");
        PreparedSend::default()
    })
}

/// Disables a destination. The caller has locked all of the tenant's destinations of this kind.
pub(super) async fn disable_destination<C: Transport>(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Destination],
    id: i64,
    now: Millis,
) -> Result<()> {
    let off = Destinations::update_many().col_expr(Column::State, Expr::val(DestinationState::Disabled));
    off.filter(Column::Id.eq(id)).exec(txn).await?;
    C::on_disabled(txn, tenant, all, id, now).await
}

/// Makes destinations due now.
pub async fn mark_due(txn: &Transaction, tenant: TenantId, ids: &[i64], now: Millis) -> Result<()> {
    let due = Destinations::update_of_tenant(tenant).col_expr(Column::DueAt, Expr::val(now));
    due.filter(Column::Id.is_in_list(txn, ids)).exec(txn).await?;
    Ok(())
}

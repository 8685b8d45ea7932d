//! Creates and changes endpoints.

use entity::destination::{ActiveModel, Column, Entity as Destinations};
use entity::prelude::*;

use super::{DeliveryEvent, DestinationKind, DestinationState, ENDPOINTS, Endpoint, get_endpoint};
use crate::DeliveryContext;
use crate::destination::{lock_for_update, lock_log_end, reset_failures, vault_owner};
use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use domain::{catalogue, notification};
use model::alarm::AlarmTarget;
use model::validate;
use model::webhook::SigningSecret;
use store::{PendingAudit, transaction};

/// How long a replaced secret still signs, in milliseconds.
const ROTATION: Millis = 86_400_000;

/// The most events in one list.
const EVENTS: usize = 20;

/// The settings of an endpoint, or changes to them. `None` keeps a setting, or uses its default for a new endpoint.
#[derive(Clone, Debug, Default)]
pub struct EndpointChange {
    pub url: Option<String>,
    pub events: Option<Vec<DeliveryEvent>>,
    pub is_full: Option<bool>,
    /// `Some(None)` switches the alarm off.
    pub alarm: Option<Option<AlarmTarget>>,
}

/// An endpoint with its secret, which is shown only once.
#[derive(Debug)]
pub struct EndpointWithSecret {
    pub endpoint: Endpoint,
    pub secret: SigningSecret,
}

/// Creates an endpoint, starting at the end of the log. `CONFLICT` if the tenant has 20 or the server has no key.
pub async fn create(context: &DeliveryContext, tenant: &Tenant, change: &EndpointChange) -> Result<EndpointWithSecret> {
    context.vault.require_key()?;
    let url = change.url.as_ref().ok_or_else(|| Error::bad_input("url", "is required"))?;
    let url = check_change(context, tenant, change).await?.unwrap_or_else(|| url.clone());
    let usual = [DeliveryEvent::Published, DeliveryEvent::Amended, DeliveryEvent::Retracted];
    let events = event_bits(change.events.as_deref().unwrap_or(&usual));
    let (alarm_type, alarm_group) = change.alarm.clone().flatten().map(|of| (of.message_type, of.group)).unzip();
    let secret = SigningSecret::generate()?;
    let id = transaction!(context.db, |txn| {
        let now = context.now();
        // Concurrent creations wait here, so that the count below is right.
        let end = lock_log_end(txn, tenant).await?;
        let endpoint = ActiveModel {
            tenant_id: Set(tenant.id),
            kind: Set(DestinationKind::Webhook),
            url: Set(url.clone()),
            events: Set(events),
            is_full: Set(change.is_full.unwrap_or_default()),
            secret: Set(String::new()),
            alarm_type: Set(alarm_type.clone()),
            alarm_group: Set(alarm_group.clone()),
            state: Set(DestinationState::Active),
            cursor_seq: Set(end),
            created_at: Set(now),
            updated_at: Set(now),
            ..Default::default()
        };
        let id = Destinations::insert(endpoint).exec(txn).await?.last_insert_id;
        PendingAudit::set_subjects([id]);
        let sealed = context.vault.seal(&vault_owner(tenant, id), secret.to_text().as_bytes())?;
        let keep = Destinations::update_many().col_expr(Column::Secret, Expr::val(sealed));
        keep.filter(Column::Id.eq(id)).exec(txn).await?;
        let many = Destinations::of_tenant(tenant.id)
            .filter(Column::Kind.eq(DestinationKind::Webhook))
            .count_rows(txn)
            .await?;
        if usize::try_from(many).unwrap_or(usize::MAX) > ENDPOINTS {
            return Err(Error::Conflict(format!("a tenant has at most {ENDPOINTS} webhook endpoints")));
        }
        Ok(id)
    })?;
    Ok(EndpointWithSecret { endpoint: get_endpoint(context, tenant, id).await?, secret })
}

/// Changes an endpoint. A new URL clears its failures and makes it due now. `NOT_FOUND` if there is none.
pub async fn update(context: &DeliveryContext, tenant: &Tenant, id: i64, change: &EndpointChange) -> Result<Endpoint> {
    let url = check_change(context, tenant, change).await?;
    transaction!(context.db, |txn| {
        let (of, mut to) = lock_for_update(txn, context, tenant, DestinationKind::Webhook, id).await?;
        if let Some(url) = url.as_ref().filter(|url| **url != of.url) {
            to = reset_failures(to, context.now()).col_expr(Column::Url, Expr::val(url.as_str()));
        }
        if let Some(events) = &change.events {
            to = to.col_expr(Column::Events, Expr::val(event_bits(events)));
        }
        if let Some(is_full) = change.is_full {
            to = to.col_expr(Column::IsFull, Expr::val(is_full));
        }
        if let Some(alarm) = &change.alarm {
            let (alarm_type, group) = alarm.clone().map(|of| (of.message_type, of.group)).unzip();
            to = to.col_expr(Column::AlarmType, Expr::val(alarm_type));
            to = to.col_expr(Column::AlarmGroup, Expr::val(group));
        }
        to.exec(txn).await?;
        Ok(())
    })?;
    get_endpoint(context, tenant, id).await
}

/// Replaces an endpoint's secret. The previous one also signs for another day.
pub async fn rotate_secret(context: &DeliveryContext, tenant: &Tenant, id: i64) -> Result<EndpointWithSecret> {
    let secret = SigningSecret::generate()?;
    let sealed = context.vault.seal(&vault_owner(tenant, id), secret.to_text().as_bytes())?;
    transaction!(context.db, |txn| {
        let (of, to) = lock_for_update(txn, context, tenant, DestinationKind::Webhook, id).await?;
        let to = to.col_expr(Column::Secret, Expr::val(sealed.as_str()));
        let to = to.col_expr(Column::PreviousSecret, Expr::val(of.secret));
        to.col_expr(Column::PreviousUntil, Expr::val(context.now() + ROTATION)).exec(txn).await?;
        Ok(())
    })?;
    Ok(EndpointWithSecret { endpoint: get_endpoint(context, tenant, id).await?, secret })
}

fn event_bits(events: &[DeliveryEvent]) -> i64 {
    events.iter().fold(0, |bits, event| bits | event.bit())
}

/// Validates the settings and returns the normalized URL.
async fn check_change(context: &DeliveryContext, tenant: &Tenant, change: &EndpointChange) -> Result<Option<String>> {
    if let Some(events) = &change.events {
        validate::at_most("events", events.len(), EVENTS)?;
        if events.is_empty() {
            return Err(Error::bad_input("events", "must have at least one event"));
        }
        if let Some(place) = events.iter().position(|event| *event == DeliveryEvent::Digest) {
            return Err(Error::bad_input(format!("events[{place}]"), "is only for emails"));
        }
    }
    let url = change.url.as_ref().map(|url| context.egress.check_url(url)).transpose();
    let url = url.map_err(|error| error.with_field_prefix("url"))?;
    if let Some(Some(alarm)) = &change.alarm {
        let catalogue = catalogue::load_current(context, tenant).await?;
        notification::check_alarm(context, tenant, &catalogue, alarm).await?;
    }
    Ok(url.map(String::from))
}

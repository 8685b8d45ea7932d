//! Tests an endpoint and returns the result to the caller.

use std::time::Duration;

use entity::delivery::{ActiveModel, Column, Entity as Deliveries};
use entity::destination::{self, Entity as Destinations};
use entity::prelude::*;
use tokio::time::timeout;

use super::attempt::WebhookClient;
use super::payload::prepare_payloads;
use super::{Delivery, DeliveryEvent, DeliveryState, DestinationKind, get_endpoint};
use crate::DeliveryContext;
use crate::destination::{AttemptOutcome, PreparedDelivery, lock_destinations, not_found_error};
use base::clock::Millis;
use base::error::{Error, Result};
use base::text::first_bytes;
use domain::tenant::Tenant;
use model::id_cipher;
use store::{Store, transaction};

/// The most pings of a tenant per minute.
const PINGS: usize = 10;
const MINUTE: Millis = 60_000;

/// The most bytes of an error.
const ERROR: usize = 500;

/// Sends `test.ping` to an endpoint once, in any state, and returns the result. `RATE_LIMITED` after ten in a minute.
///
/// The receiver has four fifths of the request's time limit, so that the caller still learns of a time-out.
pub async fn ping(context: &DeliveryContext, tenant: &Tenant, id: i64) -> Result<Delivery> {
    let endpoint = get_endpoint(context, tenant, id).await?;
    let now = context.now();
    count_ping(context, tenant, now)?;
    let delivery = transaction!(context.db, |txn| {
        let all = lock_destinations(txn, tenant.id, DestinationKind::Webhook).await?;
        let of = all.iter().find(|of| of.id == id).ok_or_else(|| not_found_error(DestinationKind::Webhook))?;
        let recent = |of: &&super::Endpoint| of.pings_since > now - MINUTE;
        let many: i64 = all.iter().filter(recent).map(|of| of.pings).sum();
        if usize::try_from(many).is_ok_and(|many| many >= PINGS) {
            let since = all.iter().filter(recent).map(|of| of.pings_since).min().unwrap_or(now);
            return Err(too_many_pings(since, now));
        }
        let is_same = of.pings_since > now - MINUTE;
        let (since, pings) = if is_same { (of.pings_since, of.pings + 1) } else { (now, 1) };
        let count = Destinations::update_many().col_expr(destination::Column::PingsSince, Expr::val(since));
        let count = count.col_expr(destination::Column::Pings, Expr::val(pings));
        count.filter(destination::Column::Id.eq(id)).exec(txn).await?;
        let delivery = ActiveModel {
            tenant_id: Set(tenant.id),
            lane_id: Set(id),
            event: Set(DeliveryEvent::Ping),
            happened_at: Set(now),
            // Already done, so that the delivery loop does not send it.
            state: Set(DeliveryState::Dead),
            due_at: Set(now),
            attempts: Set(1),
            error: Set(Some("the server stopped before it had an answer".to_owned())),
            created_at: Set(now),
            done_at: Set(Some(now)),
            ..Default::default()
        };
        let id = Deliveries::insert(delivery).exec(txn).await?.last_insert_id;
        Deliveries::find_by_id(id).one(txn).await?.ok_or_else(|| Error::internal("the inserted delivery is missing"))
    })?;
    let prepared = prepare_payloads(context, tenant, &endpoint, std::slice::from_ref(&delivery)).await?.pop();
    let Some(PreparedDelivery::Ready(body)) = prepared else { return Err(Error::internal("a ping has a body")) };
    let name = tenant.id_cipher.encode(id_cipher::IdKind::Delivery, 0, delivery.id);
    // The rest of the request's time is for recording the result and answering.
    let most = Duration::from_millis(context.config.limits.execution_millis * 4 / 5);
    let receiver = WebhookClient::for_endpoint(context, tenant, &endpoint);
    let outcome = timeout(most, receiver.attempt(context, &name, body)).await;
    let outcome = outcome.unwrap_or_else(|_| AttemptOutcome::without_answer("there was no answer in time"));
    // A ping contains no user data, so the response may be shown.
    let error = outcome.error.map(|error| match outcome.excerpt.as_str() {
        "" => error,
        excerpt => shorten_error(&format!("{error}: {excerpt}")),
    });
    let state = if error.is_none() { DeliveryState::Delivered } else { DeliveryState::Dead };
    transaction!(context.db, |txn| {
        let to = Deliveries::update_many().col_expr(Column::State, Expr::val(state));
        let to = to.col_expr(Column::Status, Expr::val(outcome.status.map(i64::from)));
        let to =
            to.col_expr(Column::Error, Expr::val(error.clone())).col_expr(Column::DoneAt, Expr::val(context.now()));
        to.filter(Column::Id.eq(delivery.id)).exec(txn).await?;
        Ok(())
    })?;
    let done = Deliveries::find_by_id(delivery.id).one(&context.db.read).await?;
    done.ok_or_else(|| not_found_error(DestinationKind::Webhook))
}

/// Also limits pings per node, since deleted endpoints no longer count in the database.
fn count_ping(store: &Store, tenant: &Tenant, now: Millis) -> Result<()> {
    let mut pings = store.caches.pings.lock();
    let recent = pings.entry(tenant.id).or_default();
    recent.retain(|at| *at > now - MINUTE);
    if recent.len() >= PINGS {
        return Err(too_many_pings(recent[0], now));
    }
    recent.push(now);
    Ok(())
}

fn too_many_pings(since: Millis, now: Millis) -> Error {
    let retry_after = u64::try_from((since + MINUTE - now).max(1000) / 1000).unwrap_or(60);
    Error::RateLimited { what: "tests of webhook endpoints", retry_after }
}

fn shorten_error(text: &str) -> String {
    first_bytes(text, ERROR)
}

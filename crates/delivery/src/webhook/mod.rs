//! Webhooks: sends a tenant's events to its own or third-party servers. The destination is an endpoint.

mod attempt;
mod payload;
mod ping;
mod read_batches;
mod save;
mod schedule;

use super::destination::{
    self, AttemptOutcome, DestinationKind, Lane, LogRange, NewDelivery, PreparedDelivery, Transport, insert_deliveries,
    mark_due,
};
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use store::Store;
use store::Transaction;

pub use super::destination::{
    Delivery, DeliveryEvent, DeliveryState, DestinationState, Lane as Endpoint, alarm_settings,
};
pub use attempt::WebhookClient;
pub use ping::ping;
pub use read_batches::delete_old_batches;
pub use save::{EndpointChange, EndpointWithSecret, create, rotate_secret, update};

/// The most endpoints of a tenant.
pub const ENDPOINTS: usize = 20;

/// The transport for webhooks.
#[derive(Debug)]
pub struct WebhookTransport;

impl Transport for WebhookTransport {
    const KIND: DestinationKind = DestinationKind::Webhook;
    type Parcel = Vec<u8>;
    type Receiver = WebhookClient;

    fn open_client(context: &DeliveryContext, tenant: &Tenant, lane: &Lane) -> WebhookClient {
        WebhookClient::for_endpoint(context, tenant, lane)
    }

    async fn attempt(receiver: &WebhookClient, context: &DeliveryContext, id: &str, body: Vec<u8>) -> AttemptOutcome {
        receiver.attempt(context, id, body).await
    }

    async fn schedule_deliveries(
        txn: &Transaction,
        _: &DeliveryContext,
        tenant: &Tenant,
        lane: &Lane,
        part: LogRange,
    ) -> Result<()> {
        schedule::schedule_deliveries(txn, tenant, lane, part).await
    }

    async fn prepare_deliveries(
        context: &DeliveryContext,
        tenant: &Tenant,
        lane: &Lane,
        due: &[Delivery],
    ) -> Result<Vec<PreparedDelivery<Vec<u8>>>> {
        payload::prepare_payloads(context, tenant, lane, due).await
    }

    async fn on_disabled(txn: &Transaction, tenant: &Tenant, all: &[Lane], id: i64, now: Millis) -> Result<()> {
        let hears = |of: &&Lane| {
            of.id != id && of.state == DestinationState::Active && of.events & DeliveryEvent::Disabled.bit() != 0
        };
        for other in all.iter().filter(hears) {
            let told = NewDelivery {
                event: DeliveryEvent::Disabled,
                contact: 0,
                subject: id,
                seq: None,
                at: now,
                due_at: now,
            };
            insert_deliveries(txn, tenant, other.id, vec![told], now).await?;
            mark_due(txn, tenant.id, &[other.id], now).await?;
        }
        Ok(())
    }
}

async fn get_endpoint(store: &Store, tenant: &Tenant, id: i64) -> Result<Endpoint> {
    destination::get_by_id(store, tenant, DestinationKind::Webhook, id).await
}

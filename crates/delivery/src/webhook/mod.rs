//! Webhooks: sends a tenant's events to its own or third-party servers. The destination is an endpoint.

mod attempt;
mod payload;
mod ping;
mod read_batches;
mod save;
mod schedule;

use super::destination::{
    self, AttemptOutcome, Destination, DestinationKind, LogRange, NewDelivery, PreparedDelivery, Transport,
    insert_deliveries, mark_due,
};
pub use super::destination::{
    Delivery, DeliveryEvent, DeliveryState, Destination as Endpoint, DestinationState, alarm_settings,
};
use crate::DeliveryContext;
pub use attempt::WebhookClient;
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
pub use ping::ping;
pub use read_batches::delete_old_batches;
pub use save::{EndpointChange, EndpointWithSecret, create, rotate_secret, update};
use store::{Store, Transaction};

/// The most endpoints of a tenant.
pub const ENDPOINTS: usize = 20;

/// The transport for webhooks.
#[derive(Debug)]
pub struct WebhookTransport;

impl Transport for WebhookTransport {
    const KIND: DestinationKind = DestinationKind::Webhook;
    type Payload = Vec<u8>;
    type Receiver = WebhookClient;

    fn open_client(context: &DeliveryContext, tenant: &Tenant, destination: &Destination) -> WebhookClient {
        WebhookClient::for_endpoint(context, tenant, destination)
    }

    async fn attempt(receiver: &WebhookClient, context: &DeliveryContext, id: &str, body: Vec<u8>) -> AttemptOutcome {
        receiver.attempt(context, id, body).await
    }

    async fn schedule_deliveries(
        txn: &Transaction,
        _: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        part: LogRange,
    ) -> Result<()> {
        schedule::schedule_deliveries(txn, tenant, destination, part).await
    }

    async fn prepare_deliveries(
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        due: &[Delivery],
    ) -> Result<Vec<PreparedDelivery<Vec<u8>>>> {
        payload::prepare_payloads(context, tenant, destination, due).await
    }

    async fn on_disabled(txn: &Transaction, tenant: &Tenant, all: &[Destination], id: i64, now: Millis) -> Result<()> {
        let hears = |of: &&Destination| {
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

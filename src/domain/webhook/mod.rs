//! Webhooks: sends a tenant's events to its own or third-party servers. The destination is an endpoint.

mod attempt;
mod items;
mod payload;
mod ping;
mod save;
mod take;

use super::lane::{
    self, AttemptOutcome, DestinationKind, Lane, LogRange, NewDelivery, PreparedDelivery, Transport, insert_deliveries,
    mark_due,
};
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;

pub use super::lane::{Delivery, DeliveryEvent, DeliveryState, DestinationState, Lane as Endpoint, alarm_settings};
pub use attempt::WebhookClient;
pub use items::delete_old_batches;
pub use ping::ping;
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

    fn open_client(app: &App, tenant: &Tenant, lane: &Lane) -> WebhookClient {
        WebhookClient::for_endpoint(app, tenant, lane)
    }

    async fn attempt(receiver: &WebhookClient, app: &App, id: &str, body: Vec<u8>) -> AttemptOutcome {
        receiver.attempt(app, id, body).await
    }

    async fn schedule_deliveries(
        txn: &Transaction,
        _: &App,
        tenant: &Tenant,
        lane: &Lane,
        part: LogRange,
    ) -> Result<()> {
        take::schedule_deliveries(txn, tenant, lane, part).await
    }

    async fn prepare_deliveries(
        app: &App,
        tenant: &Tenant,
        lane: &Lane,
        due: &[Delivery],
    ) -> Result<Vec<PreparedDelivery<Vec<u8>>>> {
        payload::prepare_payloads(app, tenant, lane, due).await
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

async fn get_endpoint(app: &App, tenant: &Tenant, id: i64) -> Result<Endpoint> {
    lane::get_by_id(app, tenant, DestinationKind::Webhook, id).await
}

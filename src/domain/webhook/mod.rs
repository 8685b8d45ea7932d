//! Webhooks: sends a tenant's events to its own or third-party servers. The destination is an endpoint.

mod attempt;
mod items;
mod payload;
mod ping;
mod save;
mod take;

use super::lane::{self, Carrier, Kind, Lane, Outcome, Part, Prepared, Told, wake, write};
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;

pub use super::lane::{Delivery, DeliveryState, Event, Lane as Endpoint, State, alarm_of};
pub use attempt::Receiver;
pub use items::sweep;
pub use ping::ping;
pub use save::{Change, Made, create, rotate, update};

/// The most endpoints of a tenant.
pub const ENDPOINTS: usize = 20;

/// The transport for webhooks.
#[derive(Debug)]
pub struct Webhooks;

impl Carrier for Webhooks {
    const KIND: Kind = Kind::Webhook;
    type Parcel = Vec<u8>;
    type Receiver = Receiver;

    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Receiver {
        Receiver::of(app, tenant, lane)
    }

    async fn attempt(receiver: &Receiver, app: &App, id: &str, body: Vec<u8>) -> Outcome {
        receiver.attempt(app, id, body).await
    }

    async fn take(txn: &Transaction, _: &App, tenant: &Tenant, lane: &Lane, part: Part) -> Result<()> {
        take::take(txn, tenant, lane, part).await
    }

    async fn prepare(app: &App, tenant: &Tenant, lane: &Lane, due: &[Delivery]) -> Result<Vec<Prepared<Vec<u8>>>> {
        payload::prepare(app, tenant, lane, due).await
    }

    async fn disabled(txn: &Transaction, tenant: &Tenant, all: &[Lane], id: i64, now: Millis) -> Result<()> {
        let hears = |of: &&Lane| of.id != id && of.state == State::Active && of.events & Event::Disabled.bit() != 0;
        for other in all.iter().filter(hears) {
            let told = Told { event: Event::Disabled, contact: 0, subject: id, seq: None, at: now, due_at: now };
            write(txn, tenant, other.id, vec![told], now).await?;
            wake(txn, tenant.id, &[other.id], now).await?;
        }
        Ok(())
    }
}

async fn known(app: &App, tenant: &Tenant, id: i64) -> Result<Endpoint> {
    lane::known(app, tenant, Kind::Webhook, id).await
}

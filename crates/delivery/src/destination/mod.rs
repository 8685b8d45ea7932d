//! Outbound destinations: a webhook endpoint, a tenant's mail relay, WeChat account or Web Push sender.
//!
//! A destination reads the tenant's log as an inbox does, with a cursor of its own (`log`), so a send writes nothing
//! for it. One transaction inserts the deliveries for up to 500 entries and moves the cursor, so each delivery exists
//! once. One node at a time works on a destination, under a lease of 30 s (`lease`). Each write locks the row and
//! checks the number of the lease. A destination's limits (attempts in flight, consecutive failures, pauses) can
//! therefore live in one node's memory.
//!
//! The delivery loop (`worker`) keeps up to 16 attempts in flight, records results ten times a second, and ends when
//! nothing is due or after 10 s. An attempt without a recorded result is repeated under the same id: a delivery may
//! arrive twice, but is never lost. `model::delivery` decides when to retry. [`Transport`] is what differs by
//! kind.

mod counts;
mod disable;
mod due;
mod host_trust;
mod lease;
mod link;
mod list;
mod log;
mod manage;
mod queries;
mod replay;
mod report;
mod sweep;
mod user_destination;
mod worker;

pub use entity::delivery::{DeliveryEvent, DeliveryState, Model as Delivery};
use entity::destination::{Column, Entity as Destinations};
pub use entity::destination::{DestinationKind, DestinationState, Model as Destination};
use entity::ids::{Seq, TenantId};
use entity::prelude::*;

use crate::DeliveryContext;
use base::clock::Millis;
use base::error::{Error, Result};
pub use counts::{
    DeliveryCounts, back_off_until, count_by_notification, count_deliveries, count_pending_deliveries, update_metrics,
};
pub use disable::mark_due;
use domain::tenant::Tenant;
pub use host_trust::HostTrust;
pub use lease::{Lease, lock_destinations};
pub use link::absolute_link;
pub use list::{DeliveryFilter, DeliveryPage, find_delivery, list_deliveries, load_kinds};
pub use log::{NewDelivery, insert_deliveries};
pub use manage::{delete, lock_for_update, lock_log_end, pause, reset_failures, resume};
use model::alarm::AlarmTarget;
pub use queries::{DueDestination, find_due};
pub use replay::{ReplaySelection, replay_deliveries};
pub use report::{DestinationReport, examine_destinations};
use store::{Store, Transaction};
pub use sweep::{delete_old_deliveries, reseal_secrets};
pub use user_destination::{DestinationSettings, find_single, get_single};
pub use worker::{WorkerOutcome, run_worker};

/// How one kind of destination makes deliveries and sends them.
pub trait Transport: Send + Sync + 'static {
    const KIND: DestinationKind;
    /// The payload of a delivery.
    type Payload: Send + 'static;
    /// The destination's settings, opened for sending.
    type Receiver: Send + Sync + 'static;

    /// Opens the settings for sending. If that fails, every attempt fails with the reason.
    fn open_client(context: &DeliveryContext, tenant: &Tenant, destination: &Destination) -> Self::Receiver;

    /// Sends a delivery once under this id and waits for the answer, for a bounded time.
    fn attempt(
        receiver: &Self::Receiver,
        context: &DeliveryContext,
        id: &str,
        payload: Self::Payload,
    ) -> impl Future<Output = AttemptOutcome> + Send;

    /// How much the host that the payload goes to is trusted.
    fn host_trust<'a>(context: &DeliveryContext, payload: &'a Self::Payload) -> HostTrust<'a> {
        let _ = (context, payload);
        HostTrust::Known
    }

    /// Inserts deliveries, or rows that become deliveries later. Runs in the transaction that moves the cursor.
    fn schedule_deliveries(
        txn: &Transaction,
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        part: LogRange,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Turns a bounded number of due rows into deliveries. Returns whether there are more, or `None` if the lease is
    /// lost.
    fn fan_out(
        context: &DeliveryContext,
        tenant: &Tenant,
        lease: Lease,
    ) -> impl Future<Output = Result<Option<bool>>> + Send {
        let _ = (context, tenant, lease);
        std::future::ready(Ok(Some(false)))
    }

    /// When the next row is due for [`fan_out`](Self::fan_out).
    fn next_fan_out_at(txn: &Transaction, destination: i64) -> impl Future<Output = Result<Option<Millis>>> + Send {
        let _ = (txn, destination);
        std::future::ready(Ok(None))
    }

    /// Prepares deliveries for sending. The result has the same order.
    fn prepare_deliveries(
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        due: &[Delivery],
    ) -> impl Future<Output = Result<Vec<PreparedDelivery<Self::Payload>>>> + Send;

    /// Reacts to the results of attempts, in the transaction that records them.
    fn on_results(
        txn: &Transaction,
        all: &[(&Delivery, &AttemptOutcome)],
        now: Millis,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (txn, all, now);
        std::future::ready(Ok(()))
    }

    /// Tells the tenant's other destinations that this one was disabled. All of `all` are locked.
    fn on_disabled(
        txn: &Transaction,
        tenant: &Tenant,
        all: &[Destination],
        id: i64,
        now: Millis,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (txn, tenant, all, id, now);
        std::future::ready(Ok(()))
    }
}

/// The entries of the log after `after` and up to `upto`.
#[derive(Clone, Copy, Debug)]
pub struct LogRange {
    pub after: Seq,
    pub upto: Seq,
    pub now: Millis,
}

/// A delivery after preparation.
#[derive(Debug)]
pub enum PreparedDelivery<P> {
    /// To be sent.
    Ready(P),
    /// Not to be sent: its subject is gone, or its event did not happen.
    Dropped,
    /// To be sent at this time.
    Later(Millis),
}

/// The result of an attempt.
#[derive(Clone, Debug, Default)]
pub struct AttemptOutcome {
    /// The HTTP or SMTP status. `None` if there was no answer.
    pub status: Option<u16>,
    /// `None` if the receiver accepted the delivery.
    pub error: Option<String>,
    /// How long the receiver asked to wait, in milliseconds. `None` if it did not ask.
    pub retry_after: Option<Millis>,
    /// The beginning of the response body.
    pub excerpt: String,
    pub blame: FailureScope,
}

impl AttemptOutcome {
    /// A failure without an answer.
    pub fn without_answer(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }
}

/// What a failure is attributed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureScope {
    /// The destination: it cannot accept anything now.
    #[default]
    Destination,
    /// The destination: too many requests at once.
    Throttled,
    /// The destination: it will never accept anything again.
    Gone,
    /// The destination is healthy, but its quota is used up. `retry_after` says for how long.
    Quota,
    /// The destination works, but cannot accept this delivery now.
    Deferred,
    /// The destination works, but will never accept this delivery.
    Delivery,
    /// The destination works, but the address is unknown there.
    Contact,
    /// The host behind this address cannot accept it now. A user chose it: other hosts may be fine.
    Host,
}

impl FailureScope {
    /// Whether the destination takes no other delivery now.
    fn stops_destination(self) -> bool {
        matches!(self, Self::Destination | Self::Throttled | Self::Gone | Self::Quota)
    }

    /// Whether a retry would fail in the same way.
    fn is_final(self) -> bool {
        matches!(self, Self::Delivery | Self::Contact)
    }
}

/// A tenant's destinations of a kind, oldest first.
pub async fn list_by_kind(store: &Store, tenant: &Tenant, kind: DestinationKind) -> Result<Vec<Destination>> {
    let of = Destinations::of_tenant(tenant.id).filter(Column::Kind.eq(kind));
    Ok(of.order_by_asc(Column::Id).all(&store.db.read).await?)
}

/// The destination with this kind and id. `None` if there is none.
pub async fn find_by_id(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<Option<Destination>> {
    let of = Destinations::of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
    Ok(of.one(&store.db.read).await?)
}

/// The tenant's destination with this id, of any kind.
pub async fn find_of_any_kind(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<Destination>> {
    Ok(Destinations::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&store.db.read).await?)
}

/// The destination with this kind and id. `NOT_FOUND` if there is none.
pub async fn get_by_id(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<Destination> {
    find_by_id(store, tenant, kind, id).await?.ok_or_else(|| not_found_error(kind))
}

/// The error for a destination that does not exist.
pub fn not_found_error(kind: DestinationKind) -> Error {
    Error::not_found(kind_noun(kind), "with this id")
}

fn kind_noun(kind: DestinationKind) -> &'static str {
    match kind {
        DestinationKind::Webhook => "webhook endpoint",
        DestinationKind::Email => "mail relay",
        DestinationKind::WeChat => "WeChat account",
        DestinationKind::WebPush => "web push sender",
    }
}

/// Where to send the alarm if the destination is disabled.
pub fn alarm_settings(destination: &Destination) -> Option<AlarmTarget> {
    let (message_type, group) = destination.alarm_type.clone().zip(destination.alarm_group.clone())?;
    Some(AlarmTarget { message_type, group })
}

/// The owner under which the vault seals a destination's secrets.
pub fn vault_owner(tenant: &Tenant, destination: i64) -> String {
    vault_owner_by_id(tenant.id, destination)
}

fn vault_owner_by_id(tenant: TenantId, destination: i64) -> String {
    format!("{tenant}/lane/{destination}")
}

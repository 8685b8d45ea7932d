//! Outbound destinations: a webhook endpoint, a tenant's mail relay, WeChat account or Web Push sender.
//!
//! A destination reads the tenant's log as an inbox does, with a cursor of its own (`log`), so a send writes nothing
//! for it. One transaction inserts the deliveries for up to 500 entries and moves the cursor, so each delivery exists
//! once. One node at a time works on a destination, under a lease of 30 s (`lease`). Each write locks the row and
//! checks the number of the lease. A destination's limits (attempts in flight, consecutive failures, pauses) can
//! therefore live in one node's memory.
//!
//! The delivery loop (`turn`) keeps up to 16 attempts in flight, records results ten times a second, and ends when
//! nothing is due or after 10 s. An attempt without a recorded result is repeated under the same id: a delivery may
//! arrive twice, but is never lost. `model::delivery` decides when to retry. [`Carrier`] is what differs by kind.

mod disable;
mod due;
mod examine;
mod lease;
mod link;
mod list;
mod log;
mod only;
mod place;
mod replay;
mod show;
mod statement;
mod sweep;
mod trust;
mod turn;

use entity::ids::{Seq, TenantId};
use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;

use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::{Error, Result};
use crate::model::alarm::Alarm;

pub use disable::wake;
pub use entity::delivery::{Event, Model as Delivery, State as DeliveryState};
pub use entity::lane::{Kind, Model as Lane, State};
pub use examine::{Examined, examine};
pub use lease::{Lease, lock_all};
pub use link::absolute;
pub use list::{Filter, Page, delivery, kinds, page};
pub use log::{Told, write};
pub use only::{Settings, only, only_known};
pub use place::{anew, changed, delete, end_of_log, pause, resume};
pub use replay::{Replay, replay};
pub use show::{Figures, by_notification, count, many, pending, resting_until};
pub use statement::{Waiting, waiting};
pub use sweep::{renew_secrets, sweep};
pub use trust::Trust;
pub use turn::{Ended, run};

/// How one kind of destination makes deliveries and sends them.
pub trait Carrier: Send + Sync + 'static {
    const KIND: Kind;
    /// The payload of a delivery.
    type Parcel: Send + 'static;
    /// The destination's settings, opened for sending.
    type Receiver: Send + Sync + 'static;

    /// Opens the settings for sending. If that fails, every attempt fails with the reason.
    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Self::Receiver;

    /// Sends a delivery once under this id and waits for the answer, for a bounded time.
    fn attempt(
        receiver: &Self::Receiver,
        app: &App,
        id: &str,
        parcel: Self::Parcel,
    ) -> impl Future<Output = Outcome> + Send;

    /// How much the host that the payload goes to is trusted.
    fn trust<'a>(app: &App, parcel: &'a Self::Parcel) -> Trust<'a> {
        let _ = (app, parcel);
        Trust::Known
    }

    /// Inserts deliveries, or rows that become deliveries later. Runs in the transaction that moves the cursor.
    fn take(
        txn: &Transaction,
        app: &App,
        tenant: &Tenant,
        lane: &Lane,
        part: Part,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Turns a bounded number of due rows into deliveries. Returns whether there are more, or `None` if the lease is
    /// lost.
    fn expand(app: &App, tenant: &Tenant, lease: Lease) -> impl Future<Output = Result<Option<bool>>> + Send {
        let _ = (app, tenant, lease);
        std::future::ready(Ok(Some(false)))
    }

    /// When the next row is due for [`expand`](Self::expand).
    fn expands_at(txn: &Transaction, lane: i64) -> impl Future<Output = Result<Option<Millis>>> + Send {
        let _ = (txn, lane);
        std::future::ready(Ok(None))
    }

    /// Prepares deliveries for sending. The result has the same order.
    fn prepare(
        app: &App,
        tenant: &Tenant,
        lane: &Lane,
        due: &[Delivery],
    ) -> impl Future<Output = Result<Vec<Prepared<Self::Parcel>>>> + Send;

    /// Reacts to the results of attempts, in the transaction that records them.
    fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> impl Future<Output = Result<()>> + Send {
        let _ = (txn, all, now);
        std::future::ready(Ok(()))
    }

    /// Tells the tenant's other destinations that this one was disabled. All of `all` are locked.
    fn disabled(
        txn: &Transaction,
        tenant: &Tenant,
        all: &[Lane],
        id: i64,
        now: Millis,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (txn, tenant, all, id, now);
        std::future::ready(Ok(()))
    }
}

/// The entries of the log after `after` and up to `upto`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub after: Seq,
    pub upto: Seq,
    pub now: Millis,
}

/// A delivery after preparation.
#[derive(Debug)]
pub enum Prepared<P> {
    /// To be sent.
    Ready(P),
    /// Not to be sent: its subject is gone, or its event did not happen.
    Dropped,
    /// To be sent at this time.
    Later(Millis),
}

/// The result of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The HTTP or SMTP status. `None` if there was no answer.
    pub status: Option<u16>,
    /// `None` if the receiver accepted the delivery.
    pub error: Option<String>,
    /// How long the receiver asked to wait, in milliseconds. `None` if it did not ask.
    pub retry_after: Option<Millis>,
    /// The beginning of the response body.
    pub excerpt: String,
    pub blame: Blame,
}

impl Outcome {
    /// A failure without an answer.
    pub fn unanswered(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }
}

/// What a failure is attributed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blame {
    /// The destination: it cannot accept anything now.
    #[default]
    Lane,
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

impl Blame {
    /// Whether the destination itself is healthy.
    fn spares_the_lane(self) -> bool {
        matches!(self, Self::Deferred | Self::Delivery | Self::Contact | Self::Host)
    }

    /// Whether a retry would fail in the same way.
    fn is_final(self) -> bool {
        matches!(self, Self::Delivery | Self::Contact)
    }
}

/// A tenant's destinations of a kind, oldest first.
pub async fn all(app: &App, tenant: &Tenant, kind: Kind) -> Result<Vec<Lane>> {
    let of = Lanes::of_tenant(tenant.id).filter(Column::Kind.eq(kind));
    Ok(of.order_by_asc(Column::Id).all(&app.db.read).await?)
}

/// The destination with this kind and id. `None` if there is none.
pub async fn find(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Option<Lane>> {
    let of = Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
    Ok(of.one(&app.db.read).await?)
}

/// The tenant's destination with this id, of any kind.
pub async fn find_any(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Lane>> {
    Ok(Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&app.db.read).await?)
}

/// The destination with this kind and id. `NOT_FOUND` if there is none.
pub async fn known(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Lane> {
    find(app, tenant, kind, id).await?.ok_or_else(|| none(kind))
}

/// The error for a destination that does not exist.
pub fn none(kind: Kind) -> Error {
    Error::not_found(noun(kind), "with this id")
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Webhook => "webhook endpoint",
        Kind::Email => "mail relay",
        Kind::WeChat => "WeChat account",
        Kind::WebPush => "web push sender",
    }
}

/// Where to send the alarm if the destination is disabled.
pub fn alarm_of(lane: &Lane) -> Option<Alarm> {
    let (message_type, group) = lane.alarm_type.clone().zip(lane.alarm_group.clone())?;
    Some(Alarm { message_type, group })
}

/// The owner under which the vault seals a destination's secrets.
pub fn owner(tenant: &Tenant, lane: i64) -> String {
    owner_within(tenant.id, lane)
}

fn owner_within(tenant: TenantId, lane: i64) -> String {
    format!("{tenant}/lane/{lane}")
}

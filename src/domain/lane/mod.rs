//! Outbound destinations: a webhook endpoint, a tenant's mail relay, WeChat account or Web Push sender.
//!
//! A destination reads the tenant's log as an inbox does, with a cursor of its own (`log`), so a send writes nothing more for it. One
//! transaction inserts the deliveries for up to 500 entries and moves the cursor, so each delivery exists once. One node at a time works
//! on a destination, under a lease of 30 s whose number each write checks under the lock of the row (`lease`). Limits of a
//! destination (attempts in flight, consecutive failures, pauses) are therefore in one node's memory.
//!
//! A turn (`turn`) keeps up to 16 attempts in flight, records results ten times a second, and ends when nothing is due or after 10 s. A
//! result that was not recorded is attempted again under the same id: a delivery may arrive twice, and is never lost. `model::delivery`
//! decides when to retry. [`Carrier`] is what differs between kinds of destinations.

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

/// What the lanes of a kind send, and how.
pub trait Carrier: Send + Sync + 'static {
    const KIND: Kind;
    /// What is sent of a delivery.
    type Parcel: Send + 'static;
    /// What it is sent to, as somebody has said it last.
    type Receiver: Send + Sync + 'static;

    /// Opens what an attempt needs; what is wrong with it is the outcome of each.
    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Self::Receiver;

    /// Sends a delivery once, under this id, and waits for the answer; that takes a bounded time.
    fn attempt(
        receiver: &Self::Receiver,
        app: &App,
        id: &str,
        parcel: Self::Parcel,
    ) -> impl Future<Output = Outcome> + Send;

    /// How far the host is trusted that it is sent to.
    fn trust<'a>(app: &App, parcel: &'a Self::Parcel) -> Trust<'a> {
        let _ = (app, parcel);
        Trust::Known
    }

    /// Makes deliveries, or what will become some, of a part of the log: in the transaction that moves the lane's place.
    fn take(
        txn: &Transaction,
        app: &App,
        tenant: &Tenant,
        lane: &Lane,
        part: Part,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Makes deliveries of what has fallen due, a bounded number; whether there is more. `None` where the lane is not this node's any
    /// more.
    fn expand(app: &App, tenant: &Tenant, lease: Lease) -> impl Future<Output = Result<Option<bool>>> + Send {
        let _ = (app, tenant, lease);
        std::future::ready(Ok(Some(false)))
    }

    /// When there is something to [`expand`](Self::expand) next.
    fn expands_at(txn: &Transaction, lane: i64) -> impl Future<Output = Result<Option<Millis>>> + Send {
        let _ = (txn, lane);
        std::future::ready(Ok(None))
    }

    /// What becomes of deliveries, in their order.
    fn prepare(
        app: &App,
        tenant: &Tenant,
        lane: &Lane,
        due: &[Delivery],
    ) -> impl Future<Output = Result<Vec<Prepared<Self::Parcel>>>> + Send;

    /// Notes what came of deliveries, in the transaction that writes that down.
    fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> impl Future<Output = Result<()>> + Send {
        let _ = (txn, all, now);
        std::future::ready(Ok(()))
    }

    /// Tells others of the tenant that a lane was disabled; all of its lanes are locked.
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

/// A part of the log: after the one, up to the other.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub after: Seq,
    pub upto: Seq,
    pub now: Millis,
}

/// What becomes of a delivery.
#[derive(Debug)]
pub enum Prepared<P> {
    /// It is sent.
    Ready(P),
    /// What it is about is gone, or it did not come to it.
    Dropped,
    /// It is for later.
    Later(Millis),
}

/// What came of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Where there was an answer: of HTTP or SMTP.
    pub status: Option<u16>,
    /// Nothing where it was taken.
    pub error: Option<String>,
    /// How long the other end wants to be left alone, in milliseconds, where it has said so.
    pub retry_after: Option<Millis>,
    /// The beginning of the answer.
    pub excerpt: String,
    pub blame: Blame,
}

impl Outcome {
    /// There was no answer, and why.
    pub fn unanswered(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }
}

/// What a failure says, and of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blame {
    /// The other end cannot take it now.
    #[default]
    Lane,
    /// It wants less at a time.
    Throttled,
    /// It wants nothing any more.
    Gone,
    /// It has taken all that it takes for now, and is well; `retry_after` says until when.
    Quota,
    /// It works, and cannot take this one now.
    Deferred,
    /// It works, and will never take this one.
    Delivery,
    /// It works, and knows no such address.
    Contact,
    /// What this address leads to cannot take it now: somebody's own choice, which says nothing of where others lead.
    Host,
}

impl Blame {
    /// Whether the other end is well, for all that.
    fn spares_the_lane(self) -> bool {
        matches!(self, Self::Deferred | Self::Delivery | Self::Contact | Self::Host)
    }

    /// Whether it would be the same the next time.
    fn is_final(self) -> bool {
        matches!(self, Self::Delivery | Self::Contact)
    }
}

/// A tenant's lanes of a kind, oldest first.
pub async fn all(app: &App, tenant: &Tenant, kind: Kind) -> Result<Vec<Lane>> {
    let of = Lanes::of_tenant(tenant.id).filter(Column::Kind.eq(kind));
    Ok(of.order_by_asc(Column::Id).all(&app.db.read).await?)
}

/// The lane of a kind with this row; nothing where there is none.
pub async fn find(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Option<Lane>> {
    let of = Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).filter(Column::Kind.eq(kind));
    Ok(of.one(&app.db.read).await?)
}

/// The tenant's lane with this id, of any kind.
pub async fn find_any(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Lane>> {
    Ok(Lanes::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&app.db.read).await?)
}

/// The lane of a kind; `NOT_FOUND` where there is none.
pub async fn known(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<Lane> {
    find(app, tenant, kind, id).await?.ok_or_else(|| none(kind))
}

/// What is answered about a lane that is not there.
pub fn none(kind: Kind) -> Error {
    Error::not_found(noun(kind), "of this id")
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Webhook => "webhook endpoint",
        Kind::Email => "mail relay",
        Kind::WeChat => "WeChat account",
        Kind::WebPush => "web push sender",
    }
}

/// Whom a lane tells that it was disabled.
pub fn alarm_of(lane: &Lane) -> Option<Alarm> {
    let (message_type, group) = lane.alarm_type.clone().zip(lane.alarm_group.clone())?;
    Some(Alarm { message_type, group })
}

/// As what the secrets of a lane are sealed.
pub fn owner(tenant: &Tenant, lane: i64) -> String {
    owner_within(tenant.id, lane)
}

fn owner_within(tenant: TenantId, lane: i64) -> String {
    format!("{tenant}/lane/{lane}")
}

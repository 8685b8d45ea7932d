//! Mail: sends inbox items to users who have not seen them there. The destination is the tenant's mail relay.
//!
//! `dispatch` decides who gets what. This module writes the letters (`letter`), reads the relay's settings (`relay`)
//! and lets readers unsubscribe (`unsubscribe`).

mod letter;
mod relay;
pub mod unsubscribe;

use super::dispatch::{self, digest};
use super::lane::{Blame, Carrier, Delivery, Event, Kind, Lane, Lease, Outcome, Part, Prepared};
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;
use crate::mail::{FailureKind, Letter, Relay};
use letter::Message;

pub use relay::{Change, has_relays, save};

/// How old a letter's date may be, in milliseconds: five days. Gateways refuse letters that are a week old.
const UNDER_WAY: Millis = 5 * 24 * 60 * 60 * 1000;

/// The transport for mail.
#[derive(Debug)]
pub struct Mails;

/// A letter, and when it was first tried.
#[derive(Debug)]
pub struct Parcel {
    message: Message,
    tried_at: Option<Millis>,
}

impl Carrier for Mails {
    const KIND: Kind = Kind::Email;
    type Parcel = Parcel;
    type Receiver = Result<Relay, String>;

    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Self::Receiver {
        relay::opened(app, tenant, lane)
    }

    async fn attempt(receiver: &Self::Receiver, app: &App, id: &str, parcel: Parcel) -> Outcome {
        let relay = match receiver {
            Ok(relay) => relay,
            Err(why) => return Outcome::unanswered(why),
        };
        let (of, now) = (parcel.message, app.now());
        let letter = Letter {
            to: &of.to,
            subject: &of.subject,
            text: &of.text,
            html: Some(&of.html),
            id,
            at: parcel.tried_at.unwrap_or(now).max(now - UNDER_WAY),
            unsubscribe: of.unsubscribe.as_deref(),
            language: of.language.as_deref(),
        };
        let failure = match app.mail.send(relay, &letter).await {
            Ok(status) => return Outcome { status: Some(status), ..Outcome::default() },
            Err(failure) => failure,
        };
        let blame = match failure.kind {
            FailureKind::Recipient => Blame::Contact,
            FailureKind::Letter => Blame::Delivery,
            FailureKind::Deferred => Blame::Deferred,
            FailureKind::Later | FailureKind::Relay | FailureKind::Refused => Blame::Lane,
        };
        Outcome { status: failure.code, error: Some(failure.told), blame, ..Outcome::default() }
    }

    async fn take(txn: &Transaction, app: &App, tenant: &Tenant, lane: &Lane, part: Part) -> Result<()> {
        dispatch::take(txn, app, tenant, lane, part).await
    }

    async fn expand(app: &App, tenant: &Tenant, lease: Lease) -> Result<Option<bool>> {
        let Some(expands) = dispatch::expand(app, tenant, Self::KIND, lease).await? else { return Ok(None) };
        let Some(makes) = digest::make(app, tenant, Self::KIND, lease).await? else { return Ok(None) };
        Ok(Some(expands || makes))
    }

    async fn expands_at(txn: &Transaction, lane: i64) -> Result<Option<Millis>> {
        let both = [dispatch::first_due(txn, lane).await?, digest::first_due(txn, lane).await?];
        Ok(both.into_iter().flatten().min())
    }

    async fn prepare(app: &App, tenant: &Tenant, lane: &Lane, due: &[Delivery]) -> Result<Vec<Prepared<Parcel>>> {
        let is_digest = |of: &Delivery| of.event == Event::Digest;
        let (digests, items): (Vec<Delivery>, Vec<Delivery>) = due.iter().cloned().partition(is_digest);
        let items = dispatch::prepare(app, tenant, lane, &items, |due| letter::message(app, tenant, lane, due)).await?;
        let digests = digest::prepare(app, tenant, lane, &digests, |of| letter::digest(app, tenant, lane, of)).await?;
        let (mut items, mut digests) = (items.into_iter(), digests.into_iter());
        let mut next = |of: &Delivery| if is_digest(of) { digests.next() } else { items.next() };
        let parcel = |of: &Delivery| {
            Some(match next(of)? {
                Prepared::Ready(message) => Prepared::Ready(Parcel { message, tried_at: of.first_tried_at }),
                Prepared::Dropped => Prepared::Dropped,
                Prepared::Later(at) => Prepared::Later(at),
            })
        };
        Ok(due.iter().filter_map(parcel).collect())
    }

    async fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> Result<()> {
        dispatch::noted(txn, all, now).await
    }
}

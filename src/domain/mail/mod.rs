//! Mail: what is in an inbox, to those who have not seen it there. A relay is a lane.
//!
//! What goes to whom is `dispatch`'s to say; here is how it is written (`letter`), to whom it is handed (`relay`), and what its
//! reader may answer (`unsubscribe`).

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

pub use letter::Message;
pub use relay::{Change, has_relays, save};

/// What relays are handed.
#[derive(Debug)]
pub struct Mails;

impl Carrier for Mails {
    const KIND: Kind = Kind::Email;
    type Parcel = Message;
    type Receiver = Result<Relay, String>;

    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Self::Receiver {
        relay::opened(app, tenant, lane)
    }

    async fn attempt(receiver: &Self::Receiver, app: &App, id: &str, of: Message) -> Outcome {
        let relay = match receiver {
            Ok(relay) => relay,
            Err(why) => return Outcome::unanswered(why),
        };
        let letter = Letter {
            to: &of.to,
            subject: &of.subject,
            text: &of.text,
            html: Some(&of.html),
            id,
            at: of.at,
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

    async fn prepare(app: &App, tenant: &Tenant, lane: &Lane, due: &[Delivery]) -> Result<Vec<Prepared<Message>>> {
        let is_digest = |of: &Delivery| of.event == Event::Digest;
        let (digests, items): (Vec<Delivery>, Vec<Delivery>) = due.iter().cloned().partition(is_digest);
        let items = dispatch::prepare(app, tenant, lane, &items, |due| letter::message(app, tenant, lane, due)).await?;
        let digests = digest::prepare(app, tenant, lane, &digests, |of| letter::digest(app, tenant, lane, of)).await?;
        let (mut items, mut digests) = (items.into_iter(), digests.into_iter());
        let next = |of: &Delivery| if is_digest(of) { digests.next() } else { items.next() };
        Ok(due.iter().filter_map(next).collect())
    }

    async fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> Result<()> {
        dispatch::noted(txn, all, now).await
    }
}

//! Web Push: sends inbox items to users' browsers. The destination is the tenant's sender. `dispatch` decides who gets
//! what. This module has the keys (`sender`), the browsers (`browser`) and the messages (`message`).
//!
//! Users choose the push services, so a failure of one of them does not count against the destination.

mod browser;
mod message;
mod sender;

use super::dispatch;
use super::lane::{Blame, Carrier, Delivery, Kind, Lane, Lease, Outcome, Part, Prepared, Trust};
use super::tenant::Tenant;
use super::user;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;
use crate::push::{Sender, Service};

pub use browser::{BROWSERS, browsers, subscribe, unsubscribe};
pub use message::Parcel;
pub use sender::{Change, contact_warning, delete, public_key, renew, save};

/// The transport for Web Push.
#[derive(Debug)]
pub struct Pushes;

impl Carrier for Pushes {
    const KIND: Kind = Kind::WebPush;
    type Parcel = Parcel;
    type Receiver = Result<Sender, String>;

    fn receiver(app: &App, tenant: &Tenant, lane: &Lane) -> Self::Receiver {
        sender::opened(app, tenant, lane)
    }

    async fn attempt(receiver: &Self::Receiver, app: &App, _: &str, of: Parcel) -> Outcome {
        let sender = match receiver {
            Ok(sender) => sender,
            Err(why) => return Outcome::unanswered(why),
        };
        let of = match of {
            Ok(of) => of,
            Err(why) => return Outcome { blame: Blame::Contact, ..Outcome::unanswered(why) },
        };
        let answer = match app.push.send(sender, &of.to, &of.message, app.now()).await {
            Ok(answer) => answer,
            Err(why) => return Outcome { blame: Blame::Host, ..Outcome::unanswered(why) },
        };
        let (blame, why) = read(answer.status);
        let retry_after = answer.retry_after.filter(|_| matches!(answer.status, 429 | 503));
        Outcome {
            status: Some(answer.status),
            error: (!answer.is_success())
                .then(|| format!("the push service answered with status {}{why}", answer.status)),
            retry_after: retry_after.and_then(|of| Millis::try_from(of.as_millis()).ok()),
            excerpt: String::new(),
            blame,
        }
    }

    fn trust<'a>(app: &App, of: &'a Parcel) -> Trust<'a> {
        let Ok(of) = of else { return Trust::Known };
        match app.push.service(&of.to) {
            Service { is_known: true, answers: true } => Trust::Known,
            Service { answers: true, .. } => Trust::Proven(&of.to.origin),
            Service { .. } => Trust::Doubted(&of.to.origin),
        }
    }

    async fn take(txn: &Transaction, app: &App, tenant: &Tenant, lane: &Lane, part: Part) -> Result<()> {
        dispatch::take(txn, app, tenant, lane, part).await
    }

    async fn expand(app: &App, tenant: &Tenant, lease: Lease) -> Result<Option<bool>> {
        dispatch::expand(app, tenant, Self::KIND, lease).await
    }

    async fn expands_at(txn: &Transaction, lane: i64) -> Result<Option<Millis>> {
        dispatch::first_due(txn, lane).await
    }

    async fn prepare(app: &App, tenant: &Tenant, lane: &Lane, due: &[Delivery]) -> Result<Vec<Prepared<Parcel>>> {
        let now = app.now();
        dispatch::prepare(app, tenant, lane, due, |due| message::parcel(tenant, lane, due, now)).await
    }

    async fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> Result<()> {
        let of = |is: &dyn Fn(&Outcome) -> bool| -> Vec<i64> {
            all.iter().filter(|(_, outcome)| is(outcome)).map(|(delivery, _)| delivery.contact_id).collect()
        };
        user::works_again(txn, &of(&|outcome| outcome.error.is_none())).await?;
        browser::forget(txn, &of(&|outcome| outcome.blame == Blame::Contact)).await?;
        let leads_nowhere = |outcome: &Outcome| matches!(outcome.status, None | Some(401 | 403));
        browser::failed(txn, &of(&|outcome| outcome.blame == Blame::Host && leads_nowhere(outcome)), now).await
    }
}

/// The scope and the meaning of a failure status.
fn read(status: u16) -> (Blame, &'static str) {
    match status {
        404 | 410 => (Blame::Contact, ": the browser has ended its subscription"),
        401 | 403 => (Blame::Host, ": it rejects the key or the contact of webPush (VAPID)"),
        400 | 413 => (Blame::Delivery, ": it rejects this message"),
        _ => (Blame::Host, ""),
    }
}

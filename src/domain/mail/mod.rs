//! Mail: what is in an inbox, to those who have not seen it there. A relay is a lane.
//!
//! A publication of a type with a rule is noted down when it comes by in the log (`take`); when it is due, the inboxes of whoever it may
//! have reached are synced, and it becomes a delivery for each of their addresses where it is still there, and still unread if the rule
//! says so (`expand`). The same is asked once more when the letter is written (`letter`). So what was read on the phone meanwhile,
//! retracted, expired or switched off needs nothing of its own here: the inbox knows.

mod expand;
mod letter;
mod relay;
mod statement;
mod take;

use entity::contact::{Column, Entity as Contacts};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use super::lane::{Blame, Carrier, Delivery, Kind, Lane, Lease, Outcome, Part, Prepared};
use super::tenant::Tenant;
use super::user;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;
use crate::mail::{FailureKind, Letter, Relay};

pub use letter::Message;
pub use relay::{Change, delete, find, save};

/// After so many refusals in a row nothing is sent to an address any more.
const REFUSALS: i64 = 3;

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
            unsubscribe: None,
            language: of.language.as_deref(),
        };
        let Err(failure) = app.mail.send(relay, &letter).await else { return Outcome::default() };
        let blame = match failure.kind {
            FailureKind::Recipient => Blame::Contact,
            FailureKind::Letter => Blame::Delivery,
            FailureKind::Later | FailureKind::Relay | FailureKind::Refused => Blame::Lane,
        };
        Outcome { status: failure.code, error: Some(failure.told), blame, ..Outcome::default() }
    }

    async fn take(txn: &Transaction, app: &App, tenant: &Tenant, lane: &Lane, part: Part) -> Result<()> {
        take::take(txn, app, tenant, lane, part).await
    }

    async fn expand(app: &App, tenant: &Tenant, lease: Lease) -> Result<Option<bool>> {
        expand::expand(app, tenant, lease).await
    }

    async fn expands_at(txn: &Transaction, lane: i64) -> Result<Option<Millis>> {
        take::first_due(txn, lane).await
    }

    async fn prepare(app: &App, tenant: &Tenant, lane: &Lane, due: &[Delivery]) -> Result<Vec<Prepared<Message>>> {
        letter::prepare(app, tenant, lane, due).await
    }

    async fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> Result<()> {
        let taken = all.iter().filter(|(_, outcome)| outcome.error.is_none()).map(|(delivery, _)| delivery.contact_id);
        user::works_again(txn, &taken.collect::<Vec<_>>()).await?;
        for (delivery, _) in all.iter().filter(|(_, outcome)| outcome.blame == Blame::Contact) {
            let refused = || Contacts::update_many().filter(Column::Id.eq(delivery.contact_id));
            refused().col_expr(Column::Failures, Expr::col(Column::Failures).add(1)).exec(txn).await?;
            let bad = refused().filter(Column::Failures.gte(REFUSALS)).filter(Column::BadSince.is_null());
            bad.col_expr(Column::BadSince, Expr::val(now)).exec(txn).await?;
        }
        Ok(())
    }
}

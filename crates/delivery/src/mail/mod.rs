//! Mail: sends inbox items to users who have not seen them there. The destination is the tenant's mail relay.
//!
//! `dispatch` decides who gets what. This module writes the letters (`letter`), reads the relay's settings (`relay`)
//! and lets readers unsubscribe (`unsubscribe`).

mod letter;
mod relay;
pub mod unsubscribe;

use super::destination::{
    AttemptOutcome, Delivery, DeliveryEvent, Destination, DestinationKind, FailureScope, Lease, LogRange,
    PreparedDelivery, Transport,
};
use super::dispatch::{self, digest};
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use letter::MailMessage;
use outside::mail::{OutgoingEmail, SmtpFailureKind, SmtpRelay};
pub use relay::{RelayChange, has_relays, save_relay};
use store::Transaction;

/// How old a letter's date may be, in milliseconds: five days. Gateways refuse letters that are a week old.
const UNDER_WAY: Millis = 5 * 24 * 60 * 60 * 1000;

/// The transport for mail.
#[derive(Debug)]
pub struct MailTransport;

/// A letter, and when it was first tried.
#[derive(Debug)]
pub struct MailPayload {
    message: MailMessage,
    tried_at: Option<Millis>,
}

impl Transport for MailTransport {
    const KIND: DestinationKind = DestinationKind::Email;
    type Payload = MailPayload;
    type Receiver = Result<SmtpRelay, String>;

    fn open_client(context: &DeliveryContext, tenant: &Tenant, destination: &Destination) -> Self::Receiver {
        relay::open_relay(context, tenant, destination)
    }

    async fn attempt(
        receiver: &Self::Receiver,
        context: &DeliveryContext,
        id: &str,
        payload: MailPayload,
    ) -> AttemptOutcome {
        let relay = match receiver {
            Ok(relay) => relay,
            Err(why) => return AttemptOutcome::without_answer(why),
        };
        let (of, now) = (payload.message, context.now());
        let letter = OutgoingEmail {
            to: &of.to,
            subject: &of.subject,
            text: &of.text,
            html: Some(&of.html),
            id,
            at: payload.tried_at.unwrap_or(now).max(now - UNDER_WAY),
            unsubscribe: of.unsubscribe.as_deref(),
            language: of.language.as_deref(),
        };
        let failure = match context.mail.send(relay, &letter).await {
            Ok(status) => return AttemptOutcome { status: Some(status), ..AttemptOutcome::default() },
            Err(failure) => failure,
        };
        let blame = match failure.kind {
            SmtpFailureKind::Recipient => FailureScope::Contact,
            SmtpFailureKind::Letter => FailureScope::Delivery,
            SmtpFailureKind::Deferred => FailureScope::Deferred,
            SmtpFailureKind::Later | SmtpFailureKind::Relay | SmtpFailureKind::Refused => FailureScope::Destination,
        };
        AttemptOutcome { status: failure.code, error: Some(failure.told), blame, ..AttemptOutcome::default() }
    }

    async fn schedule_deliveries(
        txn: &Transaction,
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        part: LogRange,
    ) -> Result<()> {
        dispatch::schedule_dispatches(txn, context, tenant, destination, part).await
    }

    async fn fan_out(context: &DeliveryContext, tenant: &Tenant, lease: Lease) -> Result<Option<bool>> {
        let Some(expands) = dispatch::fan_out(context, tenant, Self::KIND, lease).await? else { return Ok(None) };
        let Some(makes) = digest::make_deliveries(context, tenant, Self::KIND, lease).await? else { return Ok(None) };
        Ok(Some(expands || makes))
    }

    async fn next_fan_out_at(txn: &Transaction, destination: i64) -> Result<Option<Millis>> {
        let both = [dispatch::first_due_at(txn, destination).await?, digest::first_due_at(txn, destination).await?];
        Ok(both.into_iter().flatten().min())
    }

    async fn prepare_deliveries(
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        due: &[Delivery],
    ) -> Result<Vec<PreparedDelivery<MailPayload>>> {
        let is_digest = |of: &Delivery| of.event == DeliveryEvent::Digest;
        let (digests, items): (Vec<Delivery>, Vec<Delivery>) = due.iter().cloned().partition(is_digest);
        let items = dispatch::prepare_deliveries(context, tenant, destination, &items, |due| {
            letter::write_item_letter(context, tenant, destination, due)
        })
        .await?;
        let digests = digest::prepare_digests(context, tenant, destination, &digests, |of| {
            letter::write_digest_letter(context, tenant, destination, of)
        })
        .await?;
        let (mut items, mut digests) = (items.into_iter(), digests.into_iter());
        let mut next = |of: &Delivery| if is_digest(of) { digests.next() } else { items.next() };
        let payload = |of: &Delivery| {
            Some(match next(of)? {
                PreparedDelivery::Ready(message) => {
                    PreparedDelivery::Ready(MailPayload { message, tried_at: of.first_tried_at })
                }
                PreparedDelivery::Dropped => PreparedDelivery::Dropped,
                PreparedDelivery::Later(at) => PreparedDelivery::Later(at),
            })
        };
        Ok(due.iter().filter_map(payload).collect())
    }

    async fn on_results(txn: &Transaction, all: &[(&Delivery, &AttemptOutcome)], now: Millis) -> Result<()> {
        dispatch::record_results(txn, all, now).await
    }
}

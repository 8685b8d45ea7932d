//! Web Push: sends inbox items to users' browsers. The destination is the tenant's sender. `dispatch` decides who gets
//! what. This module has the keys (`sender`), the browsers (`browser`) and the messages (`message`).
//!
//! Users choose the push services, so a failure of one of them does not count against the destination.

mod browser;
mod message;
mod sender;

use super::destination::{
    AttemptOutcome, Delivery, Destination, DestinationKind, FailureScope, HostTrust, Lease, LogRange, PreparedDelivery,
    Transport,
};
use super::dispatch;
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::Result;
pub use browser::{BROWSERS, list_browsers, subscribe_browser, unsubscribe_browser};
use domain::tenant::Tenant;
use domain::user;
pub use message::PushPayload;
use outside::web_push::{PushService, VapidSender};
pub use sender::{SenderChange, contact_warning, delete_sender, public_key, renew_keys, save_sender};
use store::Transaction;

/// The transport for Web Push.
#[derive(Debug)]
pub struct PushTransport;

impl Transport for PushTransport {
    const KIND: DestinationKind = DestinationKind::WebPush;
    type Payload = PushPayload;
    type Receiver = Result<VapidSender, String>;

    fn open_client(context: &DeliveryContext, tenant: &Tenant, destination: &Destination) -> Self::Receiver {
        sender::open_sender(context, tenant, destination)
    }

    async fn attempt(receiver: &Self::Receiver, context: &DeliveryContext, _: &str, of: PushPayload) -> AttemptOutcome {
        let sender = match receiver {
            Ok(sender) => sender,
            Err(why) => return AttemptOutcome::without_answer(why),
        };
        let of = match of {
            Ok(of) => of,
            Err(why) => return AttemptOutcome { blame: FailureScope::Contact, ..AttemptOutcome::without_answer(why) },
        };
        let answer = match context.push.send(sender, &of.to, &of.message, context.now()).await {
            Ok(answer) => answer,
            Err(why) => return AttemptOutcome { blame: FailureScope::Host, ..AttemptOutcome::without_answer(why) },
        };
        let (blame, why) = classify_status(answer.status);
        let retry_after = answer.retry_after.filter(|_| matches!(answer.status, 429 | 503));
        AttemptOutcome {
            status: Some(answer.status),
            error: (!answer.is_success())
                .then(|| format!("the push service answered with status {}{why}", answer.status)),
            retry_after: retry_after.and_then(|of| Millis::try_from(of.as_millis()).ok()),
            excerpt: String::new(),
            blame,
        }
    }

    fn host_trust<'a>(context: &DeliveryContext, of: &'a PushPayload) -> HostTrust<'a> {
        let Ok(of) = of else { return HostTrust::Known };
        match context.push.push_service(&of.to) {
            PushService { is_known: true, answers: true } => HostTrust::Known,
            PushService { answers: true, .. } => HostTrust::Proven(&of.to.origin),
            PushService { .. } => HostTrust::Doubted(&of.to.origin),
        }
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
        dispatch::fan_out(context, tenant, Self::KIND, lease).await
    }

    async fn next_fan_out_at(txn: &Transaction, destination: i64) -> Result<Option<Millis>> {
        dispatch::first_due_at(txn, destination).await
    }

    async fn prepare_deliveries(
        context: &DeliveryContext,
        tenant: &Tenant,
        destination: &Destination,
        due: &[Delivery],
    ) -> Result<Vec<PreparedDelivery<PushPayload>>> {
        let now = context.now();
        dispatch::prepare_deliveries(context, tenant, destination, due, |due| {
            message::write_payload(tenant, destination, due, now)
        })
        .await
    }

    async fn on_results(txn: &Transaction, all: &[(&Delivery, &AttemptOutcome)], now: Millis) -> Result<()> {
        let of = |is: &dyn Fn(&AttemptOutcome) -> bool| -> Vec<i64> {
            all.iter().filter(|(_, outcome)| is(outcome)).map(|(delivery, _)| delivery.contact_id).collect()
        };
        user::clear_contact_failures(txn, &of(&|outcome| outcome.error.is_none())).await?;
        browser::delete_browsers(txn, &of(&|outcome| outcome.blame == FailureScope::Contact)).await?;
        let leads_nowhere = |outcome: &AttemptOutcome| matches!(outcome.status, None | Some(401 | 403));
        browser::count_failures(txn, &of(&|outcome| outcome.blame == FailureScope::Host && leads_nowhere(outcome)), now)
            .await
    }
}

/// The scope and the meaning of a failure status.
fn classify_status(status: u16) -> (FailureScope, &'static str) {
    match status {
        404 | 410 => (FailureScope::Contact, ": the browser has ended its subscription"),
        401 | 403 => (FailureScope::Host, ": it rejects the key or the contact of webPush (VAPID)"),
        400 | 413 => (FailureScope::Delivery, ": it rejects this message"),
        _ => (FailureScope::Host, ""),
    }
}

//! WeChat: sends inbox items to users who follow a tenant's official account. The destination is the account.
//!
//! `dispatch` decides who gets what. This module writes the messages (`message`) and has the account's settings
//! (`account`) and access token (`token`).

mod account;
mod message;
mod token;

use super::destination::{
    AttemptOutcome, Delivery, Destination, DestinationKind, FailureScope, Lease, LogRange, PreparedDelivery, Transport,
};
use super::dispatch;
use crate::DeliveryContext;
pub use account::{AccountChange, save_account};
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
pub use message::WeChatPayload;
use outside::wechat::{FailureVerdict, WeChatFailure};
use store::Transaction;
pub use token::AccountTokens;

/// One day, in milliseconds.
const DAY: Millis = 86_400_000;
/// How far Shanghai is ahead of UTC, in milliseconds. It has no daylight saving time.
const AHEAD: Millis = 8 * 3_600_000;

/// The transport for WeChat.
#[derive(Debug)]
pub struct WeChatTransport;

impl Transport for WeChatTransport {
    const KIND: DestinationKind = DestinationKind::WeChat;
    type Payload = WeChatPayload;
    type Receiver = AccountTokens;

    fn open_client(_: &DeliveryContext, tenant: &Tenant, destination: &Destination) -> AccountTokens {
        AccountTokens::for_destination(tenant, destination)
    }

    async fn attempt(
        tokens: &AccountTokens,
        context: &DeliveryContext,
        id: &str,
        payload: WeChatPayload,
    ) -> AttemptOutcome {
        let message = match payload {
            Ok(message) => message,
            Err(why) => {
                return AttemptOutcome { error: Some(why), blame: FailureScope::Delivery, ..AttemptOutcome::default() };
            }
        };
        let mut refused = None;
        loop {
            let sent = match tokens.valid_token(context, refused.as_deref()).await {
                Ok(token) => context.wechat.send(&token, id, &message).await.map_err(|failure| (failure, Some(token))),
                Err(failure) => Err((failure, None)),
            };
            match sent {
                Ok(()) => return AttemptOutcome { status: Some(200), ..AttemptOutcome::default() },
                Err((WeChatFailure { verdict: FailureVerdict::Token, .. }, Some(token))) if refused.is_none() => {
                    refused = Some(token);
                }
                Err((failure, _)) => return failure_outcome(failure, context.now()),
            }
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
    ) -> Result<Vec<PreparedDelivery<WeChatPayload>>> {
        let mut templates = message::MessageTemplates::default();
        dispatch::prepare_deliveries(context, tenant, destination, due, |due| {
            Ok(templates.write_message(destination, due))
        })
        .await
    }

    async fn on_results(txn: &Transaction, all: &[(&Delivery, &AttemptOutcome)], now: Millis) -> Result<()> {
        dispatch::record_results(txn, all, now).await
    }
}

/// Converts a failure of the API into the result of an attempt.
fn failure_outcome(failure: WeChatFailure, now: Millis) -> AttemptOutcome {
    let blame = match failure.verdict {
        FailureVerdict::Later | FailureVerdict::Token => FailureScope::Destination,
        FailureVerdict::Throttled => FailureScope::Throttled,
        FailureVerdict::Contact => FailureScope::Contact,
        FailureVerdict::Message => FailureScope::Delivery,
        FailureVerdict::Quota => FailureScope::Quota,
        FailureVerdict::Account => FailureScope::Gone,
    };
    let asked = failure.retry_after.and_then(|of| Millis::try_from(of.as_millis()).ok());
    let retry_after = if blame == FailureScope::Quota { Some(until_midnight(now)) } else { asked };
    AttemptOutcome {
        status: failure.status,
        error: Some(failure.told),
        retry_after,
        blame,
        ..AttemptOutcome::default()
    }
}

/// How long until midnight in Shanghai.
fn until_midnight(now: Millis) -> Millis {
    DAY - (now + AHEAD).rem_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::{AHEAD, DAY, failure_outcome, until_midnight};
    use crate::destination::FailureScope;
    use outside::wechat::{FailureVerdict, WeChatFailure};

    #[test]
    fn days_end_at_midnight_in_shanghai() {
        let midnight = 20_000 * DAY - AHEAD;
        assert_eq!([0, 1, DAY - 1].map(|after| until_midnight(midnight + after)), [DAY, DAY - 1, 1]);
    }

    #[test]
    fn each_verdict_is_somebodys() {
        for (verdict, blame) in [
            (FailureVerdict::Later, FailureScope::Destination),
            (FailureVerdict::Token, FailureScope::Destination),
            (FailureVerdict::Throttled, FailureScope::Throttled),
            (FailureVerdict::Contact, FailureScope::Contact),
            (FailureVerdict::Message, FailureScope::Delivery),
            (FailureVerdict::Quota, FailureScope::Quota),
            (FailureVerdict::Account, FailureScope::Gone),
        ] {
            let failure = WeChatFailure { verdict, status: Some(200), told: "no".into(), retry_after: None };
            let of = failure_outcome(failure, 0);
            assert_eq!((of.blame, of.retry_after.is_some()), (blame, blame == FailureScope::Quota));
        }
    }
}

//! WeChat: sends inbox items to users who follow a tenant's official account. The destination is the account.
//!
//! `dispatch` decides who gets what. This module writes the messages (`message`) and has the account's settings
//! (`account`) and access token (`token`).

mod account;
mod message;
mod token;

use super::dispatch;
use super::lane::{Blame, Carrier, Delivery, Kind, Lane, Lease, Outcome, Part, Prepared};
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;
use crate::wechat::{Failure, Verdict};

pub use account::{Change, save};
pub use message::Parcel;
pub use token::Tokens;

/// One day, in milliseconds.
const DAY: Millis = 86_400_000;
/// How far Shanghai is ahead of UTC, in milliseconds. It has no daylight saving time.
const AHEAD: Millis = 8 * 3_600_000;

/// The transport for WeChat.
#[derive(Debug)]
pub struct WeChats;

impl Carrier for WeChats {
    const KIND: Kind = Kind::WeChat;
    type Parcel = Parcel;
    type Receiver = Tokens;

    fn receiver(_: &App, tenant: &Tenant, lane: &Lane) -> Tokens {
        Tokens::of(tenant, lane)
    }

    async fn attempt(tokens: &Tokens, app: &App, id: &str, parcel: Parcel) -> Outcome {
        let message = match parcel {
            Ok(message) => message,
            Err(why) => return Outcome { error: Some(why), blame: Blame::Delivery, ..Outcome::default() },
        };
        let mut refused = None;
        loop {
            let sent = match tokens.one(app, refused.as_deref()).await {
                Ok(token) => app.wechat.send(&token, id, &message).await.map_err(|failure| (failure, Some(token))),
                Err(failure) => Err((failure, None)),
            };
            match sent {
                Ok(()) => return Outcome { status: Some(200), ..Outcome::default() },
                Err((Failure { verdict: Verdict::Token, .. }, Some(token))) if refused.is_none() => {
                    refused = Some(token);
                }
                Err((failure, _)) => return outcome(failure, app.now()),
            }
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
        let mut templates = message::Templates::default();
        dispatch::prepare(app, tenant, lane, due, |due| Ok(templates.message(lane, due))).await
    }

    async fn noted(txn: &Transaction, all: &[(&Delivery, &Outcome)], now: Millis) -> Result<()> {
        dispatch::noted(txn, all, now).await
    }
}

/// Converts a failure of the API into the result of an attempt.
fn outcome(failure: Failure, now: Millis) -> Outcome {
    let blame = match failure.verdict {
        Verdict::Later | Verdict::Token => Blame::Lane,
        Verdict::Throttled => Blame::Throttled,
        Verdict::Contact => Blame::Contact,
        Verdict::Message => Blame::Delivery,
        Verdict::Quota => Blame::Quota,
        Verdict::Account => Blame::Gone,
    };
    let asked = failure.retry_after.and_then(|of| Millis::try_from(of.as_millis()).ok());
    let retry_after = if blame == Blame::Quota { Some(until_midnight(now)) } else { asked };
    Outcome { status: failure.status, error: Some(failure.told), retry_after, blame, ..Outcome::default() }
}

/// How long until midnight in Shanghai.
fn until_midnight(now: Millis) -> Millis {
    DAY - (now + AHEAD).rem_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::{AHEAD, DAY, outcome, until_midnight};
    use crate::domain::lane::Blame;
    use crate::wechat::{Failure, Verdict};

    #[test]
    fn days_end_at_midnight_in_shanghai() {
        let midnight = 20_000 * DAY - AHEAD;
        assert_eq!([0, 1, DAY - 1].map(|after| until_midnight(midnight + after)), [DAY, DAY - 1, 1]);
    }

    #[test]
    fn each_verdict_is_somebodys() {
        for (verdict, blame) in [
            (Verdict::Later, Blame::Lane),
            (Verdict::Token, Blame::Lane),
            (Verdict::Throttled, Blame::Throttled),
            (Verdict::Contact, Blame::Contact),
            (Verdict::Message, Blame::Delivery),
            (Verdict::Quota, Blame::Quota),
            (Verdict::Account, Blame::Gone),
        ] {
            let failure = Failure { verdict, status: Some(200), told: "no".into(), retry_after: None };
            let of = outcome(failure, 0);
            assert_eq!((of.blame, of.retry_after.is_some()), (blame, blame == Blame::Quota));
        }
    }
}

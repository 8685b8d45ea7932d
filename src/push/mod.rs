//! Web Push: sends messages to browsers through the push services that the browsers name. `egress` decides which URLs
//! are allowed.
//!
//! The caller decides when to send and when to retry. This module encrypts a message for one browser (`encrypt`, RFC
//! 8291), signs the request for the tenant (`vapid`, RFC 8292), and posts it (RFC 8030).

mod encoding;
mod encrypt;
mod services;
mod subscription;
mod vapid;

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use crate::clock::Millis;
use crate::egress::{Answer, Egress};
use crate::error::Result;
use services::Services;
pub use subscription::{Subscription, address};
use vapid::Tokens;
pub use vapid::{Pair, Sender};

/// Maximum seconds for which a push service keeps an undelivered message: four weeks, as the largest services allow.
const LONGEST: i64 = 2_419_200;

/// A user-supplied service that takes longer than this counts as unresponsive.
const PROMPT: Duration = Duration::from_secs(1);

/// A push service.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Run by a browser vendor, so that no user can make it respond slowly.
    pub is_known: bool,
    /// It responded in time to the last request, for any browser.
    pub answers: bool,
}

/// Sends messages to browsers.
#[derive(Debug)]
pub struct Push {
    egress: Egress,
    tokens: Tokens,
    services: Services,
}

/// A message for a browser.
#[derive(Clone, Debug)]
pub struct Message {
    /// At most 3,000 bytes, so that every push service accepts it.
    pub text: String,
    /// At most 32 characters of base64url. A later message with the same topic replaces an undelivered one.
    pub topic: String,
    /// How long the message is of use, in milliseconds; `None` for no limit.
    pub lasts: Option<Millis>,
}

impl Push {
    /// Sends to hosts that `egress` allows.
    pub fn new(egress: Egress) -> Self {
        Self { egress, tokens: Tokens::default(), services: Services::default() }
    }

    /// Parses a subscription before it is saved; its address must be allowed. Names are resolved for each request, not
    /// here.
    ///
    /// Fails with `BadInput` for a field that begins with `endpoint` or `keys`.
    pub fn read(&self, subscription: &serde_json::Value) -> Result<Subscription> {
        let subscription = Subscription::read(subscription)?;
        self.egress.check(&subscription.endpoint).map_err(|error| error.within("endpoint"))?;
        Ok(subscription)
    }

    /// The push service of a browser.
    pub fn service(&self, to: &Subscription) -> Service {
        Service { is_known: services::is_known(&to.origin), answers: self.services.answers(&to.origin) }
    }

    /// Posts a message once and waits for the response, with the time limits of `egress`. The error says why there is
    /// none.
    pub async fn send(
        &self,
        sender: &Sender,
        to: &Subscription,
        message: &Message,
        now: Millis,
    ) -> std::result::Result<Answer, String> {
        let written = || {
            let token = self.tokens.of(sender, &to.origin, now)?;
            Ok((token, encrypt::encrypt(to, message.text.as_bytes())?))
        };
        let (token, body) = written().map_err(|error: crate::error::Error| {
            tracing::error!(cause = error.told(), "a message cannot be encrypted");
            "the server could not encrypt the message".to_owned()
        })?;
        let seconds = message.lasts.map_or(LONGEST, |lasts| (lasts / 1000).clamp(0, LONGEST));
        let headers = [
            ("authorization", format!("vapid t={token}, k={}", sender.public())),
            ("content-encoding", "aes128gcm".to_owned()),
            ("content-type", "application/octet-stream".to_owned()),
            ("ttl", seconds.to_string()),
            ("topic", message.topic.clone()),
            ("urgency", "normal".to_owned()),
        ];
        let mut posting = pin!(self.egress.post(&to.endpoint, &headers, body));
        // Mark the service as unresponsive while still waiting, so that it delays no further messages.
        let prompt = timeout(PROMPT, posting.as_mut()).await.ok();
        let is_prompt = prompt.is_some() || services::is_known(&to.origin);
        if !is_prompt {
            self.services.note(&to.origin, false);
        }
        let answer = match prompt {
            Some(answer) => answer,
            None => posting.await,
        };
        self.services.note(&to.origin, is_prompt && answer.is_ok());
        answer.map_err(|failure| failure.message)
    }
}

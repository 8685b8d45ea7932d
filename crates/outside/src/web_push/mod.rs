//! Web Push: sends messages to browsers through the push services that the browsers name. `egress` decides which URLs
//! are allowed.
//!
//! The caller decides when to send and when to retry. This module encrypts a message for one browser
//! (`encrypt_message`, RFC 8291), signs the request for the tenant (`vapid`, RFC 8292), and posts it (RFC 8030).

mod encoding;
mod encrypt;
mod services;
mod subscription;
mod vapid;

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use crate::egress::{EgressClient, EgressResponse};
use base::clock::Millis;
use base::error::Result;
use services::ServiceHealth;
pub use subscription::{PushSubscription, endpoint_hash};
use vapid::VapidTokenCache;
pub use vapid::{VapidKeyPair, VapidSender};

/// Maximum seconds for which a push service keeps an undelivered message: four weeks, as the largest services allow.
const LONGEST: i64 = 2_419_200;

/// A user-supplied service that takes longer than this counts as unresponsive.
const PROMPT: Duration = Duration::from_secs(1);

/// A push service.
#[derive(Clone, Copy, Debug)]
pub struct PushService {
    /// Run by a browser vendor, so that no user can make it respond slowly.
    pub is_known: bool,
    /// It responded in time to the last request, for any browser.
    pub answers: bool,
}

/// Sends messages to browsers.
#[derive(Debug)]
pub struct PushClient {
    egress: EgressClient,
    tokens: VapidTokenCache,
    services: ServiceHealth,
}

/// A message for a browser.
#[derive(Clone, Debug)]
pub struct PushMessage {
    /// At most 3,000 bytes, so that every push service accepts it.
    pub text: String,
    /// At most 32 characters of base64url. A later message with the same topic replaces an undelivered one.
    pub topic: String,
    /// How long the message is of use, in milliseconds; `None` for no limit.
    pub lasts: Option<Millis>,
}

impl PushClient {
    /// Sends to hosts that `egress` allows.
    pub fn new(egress: EgressClient) -> Self {
        Self { egress, tokens: VapidTokenCache::default(), services: ServiceHealth::default() }
    }

    /// Parses a subscription before it is saved; its address must be allowed. Names are resolved for each request, not
    /// here.
    ///
    /// Fails with `BadInput` for a field that begins with `endpoint` or `keys`.
    pub fn parse_subscription(&self, subscription: &serde_json::Value) -> Result<PushSubscription> {
        let subscription = PushSubscription::parse(subscription)?;
        self.egress.check_url(&subscription.endpoint).map_err(|error| error.with_field_prefix("endpoint"))?;
        Ok(subscription)
    }

    /// The push service of a browser.
    pub fn push_service(&self, to: &PushSubscription) -> PushService {
        PushService {
            is_known: services::is_vendor_origin(&to.origin),
            answers: self.services.is_responding(&to.origin),
        }
    }

    /// Posts a message once and waits for the response, with the time limits of `egress`. The error says why there is
    /// none.
    pub async fn send(
        &self,
        sender: &VapidSender,
        to: &PushSubscription,
        message: &PushMessage,
        now: Millis,
    ) -> std::result::Result<EgressResponse, String> {
        let written = || {
            let token = self.tokens.get_or_sign(sender, &to.origin, now)?;
            Ok((token, encrypt::encrypt_message(to, message.text.as_bytes())?))
        };
        let (token, body) = written().map_err(|error: base::error::Error| {
            tracing::error!(cause = error.log_message(), "a message cannot be encrypted");
            "the server could not encrypt the message".to_owned()
        })?;
        let seconds = message.lasts.map_or(LONGEST, |lasts| (lasts / 1000).clamp(0, LONGEST));
        let headers = [
            ("authorization", format!("vapid t={token}, k={}", sender.public_key())),
            ("content-encoding", "aes128gcm".to_owned()),
            ("content-type", "application/octet-stream".to_owned()),
            ("ttl", seconds.to_string()),
            ("topic", message.topic.clone()),
            ("urgency", "normal".to_owned()),
        ];
        let mut posting = pin!(self.egress.post(&to.endpoint, &headers, body));
        // Mark the service as unresponsive while still waiting, so that it delays no further messages.
        let prompt = timeout(PROMPT, posting.as_mut()).await.ok();
        let is_prompt = prompt.is_some() || services::is_vendor_origin(&to.origin);
        if !is_prompt {
            self.services.record_response(&to.origin, false);
        }
        let answer = match prompt {
            Some(answer) => answer,
            None => posting.await,
        };
        self.services.record_response(&to.origin, is_prompt && answer.is_ok());
        answer.map_err(|failure| failure.message)
    }
}

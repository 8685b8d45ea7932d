//! Web Push: messages to browsers, over the push services that these have named. `egress` decides where their URLs lead.
//!
//! Whether a message is due, and how often it is tried again, its caller decides. Here it is encrypted for the one browser that it is for
//! (`encrypt`, RFC 8291), signed as the tenant's (`vapid`, RFC 8292), and posted (RFC 8030).

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

/// The longest that a push service keeps what it cannot deliver, in seconds: four weeks, as the largest of them have it.
const LONGEST: i64 = 2_419_200;

/// A service that a user has named answers within this, or is taken for one that may never do so.
const PROMPT: Duration = Duration::from_secs(1);

/// A push service.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// A browser's maker runs it, and no user can have it answer slowly.
    pub is_known: bool,
    /// It answered when it was asked the last time, for whichever browser that was.
    pub answers: bool,
}

/// Sends messages to browsers.
#[derive(Debug)]
pub struct Push {
    egress: Egress,
    tokens: Tokens,
    services: Services,
}

/// What a browser is sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// At most 3,000 bytes, so that every push service takes it.
    pub text: String,
    /// At most 32 characters of base64url: what is not delivered yet is replaced by what comes later under the same.
    pub topic: String,
    /// How long it is worth something, in milliseconds; nothing where it is for as long as anybody keeps it.
    pub lasts: Option<Millis>,
}

impl Push {
    /// To hosts that `egress` lets through.
    pub fn new(egress: Egress) -> Self {
        Self { egress, tokens: Tokens::default(), services: Services::default() }
    }

    /// A browser's subscription that may be saved: not of an address that may not be reached. Names are looked up by each request, and
    /// not here.
    ///
    /// Fails with `BadInput`, whose field begins with `endpoint` or `keys`.
    pub fn read(&self, subscription: &serde_json::Value) -> Result<Subscription> {
        let subscription = Subscription::read(subscription)?;
        self.egress.check(&subscription.endpoint).map_err(|error| error.within("endpoint"))?;
        Ok(subscription)
    }

    /// The service of a browser.
    pub fn service(&self, to: &Subscription) -> Service {
        Service { is_known: services::is_known(&to.origin), answers: self.services.answers(&to.origin) }
    }

    /// Posts a message once, and waits for the answer, as long as `egress` does. Where there is none, says why.
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
        // That is noted while it is waited for, so that it holds up no more of what comes after it.
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

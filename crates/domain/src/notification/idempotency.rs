//! Idempotency keys. Each belongs to its sender: the tenant's backend or one of its users.
//!
//! The backend's keys are stored as given. A user's key is stored as a hash of user id and key, behind a character that
//! no key contains. So keys of different senders cannot collide, and one unique index covers them all.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::input::{Addressees, NotificationInput};
use crate::user::PerformedBy;
use base::clock::Millis;
use base::error::{Error, Result};
use model::content::NotificationContent;
use model::fingerprint::fingerprint;
use model::json::canonicalize;
use model::validate;

/// The prefix of a user's stored key. Neither keys nor ids contain control characters.
pub const OF_USERS: char = '\u{1f}';

/// An idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdempotencyKey {
    /// As its owner gave it.
    pub said: String,
    /// As stored. Unique among all owners.
    pub kept: String,
}

impl IdempotencyKey {
    /// The key of an input, if it has one. `BAD_USER_INPUT` if it is invalid.
    pub fn from_input(by: PerformedBy<'_>, input: &NotificationInput) -> Result<Option<Self>> {
        let Some(said) = &input.idempotency_key else { return Ok(None) };
        validate::identifier("idempotencyKey", said)?;
        let kept = match by {
            PerformedBy::Backend => said.clone(),
            PerformedBy::User(id) => {
                let digest = Sha256::digest(format!("{id}{OF_USERS}{said}"));
                format!("{OF_USERS}{}", URL_SAFE_NO_PAD.encode(digest))
            }
        };
        Ok(Some(Self { said: said.clone(), kept }))
    }

    /// The error for other content under the same key.
    pub fn conflict_error(&self) -> Error {
        Error::Conflict(format!("the idempotency key {:?} was used for something else", self.said))
    }
}

/// The content of a send, to compare it with an earlier send under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContentFingerprint {
    /// 64 bits of a SHA-256 of everything but the key. Users and groups are sets, and a `publish_at` in the past is
    /// none.
    pub fingerprint: i64,
    /// Other fingerprints that the same content may be stored with: from before `publish_at` had passed, or from server
    /// versions that compared users and groups as lists.
    others: Vec<i64>,
    /// The serialized input without `publish_at`, if it is published at once.
    text: Option<Vec<u8>>,
}

/// An earlier send under a key, as far as a comparison needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierSend {
    pub id: i64,
    pub fingerprint: i64,
    /// The time for which it was scheduled.
    pub publish_at: Option<Millis>,
}

impl ContentFingerprint {
    /// The content of an input at the time `now`.
    pub fn from_input(input: &NotificationInput, now: Millis) -> Result<Self> {
        let publish_at = input.publish_at.filter(|at| *at > now);
        let addressees = input.addressees.normalized();
        let text = serialize_input(input, addressees.as_ref().unwrap_or(&input.addressees))?;
        let fingerprint = fingerprint_at(&text, publish_at);
        let mut others = Vec::new();
        if input.idempotency_key.is_none() {
            return Ok(Self { fingerprint, others, text: None });
        }
        if publish_at != input.publish_at {
            others.push(fingerprint_at(&text, input.publish_at));
        }
        if addressees.is_some() {
            let listed = serialize_input(input, &input.addressees)?;
            others.extend([fingerprint_at(&listed, publish_at), fingerprint_at(&listed, input.publish_at)]);
        }
        Ok(Self { fingerprint, others, text: publish_at.is_none().then_some(text) })
    }

    /// Whether the earlier send had the same content.
    pub fn is_same_as(&self, kept: EarlierSend, now: Millis) -> bool {
        if self.fingerprint == kept.fingerprint || self.others.contains(&kept.fingerprint) {
            return true;
        }
        // Both mean "at once" by now.
        let passed = kept.publish_at.filter(|at| *at <= now);
        passed.is_some_and(|passed| {
            self.text.as_ref().is_some_and(|text| fingerprint_at(text, Some(passed)) == kept.fingerprint)
        })
    }
}

/// Serializes the whole input except the key and `publish_at`.
fn serialize_input(input: &NotificationInput, addressees: &Addressees) -> Result<Vec<u8>> {
    let content = NotificationContent {
        params: input.content.params.as_ref().map(canonicalize),
        data: input.content.data.as_ref().map(canonicalize),
        ..input.content.clone()
    };
    let said = (&input.message_type, addressees, &content, &input.sender, input.expires_at);
    serde_json::to_vec(&said).map_err(Error::internal)
}

/// The fingerprint of a serialized input with `publish_at`. Without it, the same as before scheduling existed.
fn fingerprint_at(text: &[u8], publish_at: Option<Millis>) -> i64 {
    match publish_at {
        None => fingerprint(text),
        Some(publish_at) => fingerprint(&[b"[", text, b",", publish_at.to_string().as_bytes(), b"]"].concat()),
    }
}

//! Idempotency keys: each belongs to whoever sends, the tenant's backend or one of its users.
//!
//! The backend's are kept as they are said. A user's are kept as a digest with their id, behind a character that no key contains:
//! so nobody's key is in the way of anybody else's, and all of them are unique by one index.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::input::{Addressees, Input};
use crate::clock::Millis;
use crate::domain::user::By;
use crate::error::{Error, Result};
use crate::model::check;
use crate::model::content::Content;
use crate::model::fingerprint::fingerprint;
use crate::model::json::canonical;

/// What a user's key begins with where it is kept. Neither keys nor ids contain control characters.
pub const OF_USERS: char = '\u{1f}';

/// A key of somebody's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// As its owner calls it.
    pub said: String,
    /// As it is kept: no two owners have the same.
    pub kept: String,
}

impl Key {
    /// The key of an input, if it has one. `BAD_USER_INPUT` for what is none.
    pub fn of(by: By<'_>, input: &Input) -> Result<Option<Self>> {
        let Some(said) = &input.idempotency_key else { return Ok(None) };
        check::code("idempotencyKey", said)?;
        let kept = match by {
            By::Partner => said.clone(),
            By::User(id) => {
                let digest = Sha256::digest(format!("{id}{OF_USERS}{said}"));
                format!("{OF_USERS}{}", URL_SAFE_NO_PAD.encode(digest))
            }
        };
        Ok(Some(Self { said: said.clone(), kept }))
    }

    /// What whoever says something else under it is told.
    pub fn conflict(&self) -> Error {
        Error::Conflict(format!("the idempotency key {:?} was used for something else", self.said))
    }
}

/// What a caller says under a key, as it is compared with what was said under the same key before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// 64 bits of a SHA-256 over everything but the key itself. Users and groups are sets, and an instant that has passed means at once.
    pub fingerprint: i64,
    /// The fingerprints that the same was kept under otherwise: before its instant had passed, or by servers for which users and groups
    /// were lists.
    others: Vec<i64>,
    /// The text without an instant, where it is to be published at once.
    text: Option<Vec<u8>>,
}

/// What was sent under a key, as far as it says whether another call says the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub id: i64,
    pub fingerprint: i64,
    /// The instant for which it was scheduled.
    pub publish_at: Option<Millis>,
}

impl Said {
    /// What an input says at `now`.
    pub fn of(input: &Input, now: Millis) -> Result<Self> {
        let publish_at = input.publish_at.filter(|at| *at > now);
        let addressees = input.addressees.as_set();
        let text = text(input, addressees.as_ref().unwrap_or(&input.addressees))?;
        let fingerprint = at(&text, publish_at);
        let mut others = Vec::new();
        if input.idempotency_key.is_none() {
            return Ok(Self { fingerprint, others, text: None });
        }
        if publish_at != input.publish_at {
            others.push(at(&text, input.publish_at));
        }
        if addressees.is_some() {
            let listed = self::text(input, &input.addressees)?;
            others.extend([at(&listed, publish_at), at(&listed, input.publish_at)]);
        }
        Ok(Self { fingerprint, others, text: publish_at.is_none().then_some(text) })
    }

    /// Whether this is what was said before.
    pub fn is(&self, kept: Kept, now: Millis) -> bool {
        if self.fingerprint == kept.fingerprint || self.others.contains(&kept.fingerprint) {
            return true;
        }
        // Both mean at once by now.
        let passed = kept.publish_at.filter(|at| *at <= now);
        passed.is_some_and(|passed| self.text.as_ref().is_some_and(|text| at(text, Some(passed)) == kept.fingerprint))
    }
}

/// Everything that the caller said, but for the key and the instant of publication.
fn text(input: &Input, addressees: &Addressees) -> Result<Vec<u8>> {
    let content = Content {
        params: input.content.params.as_ref().map(canonical),
        data: input.content.data.as_ref().map(canonical),
        ..input.content.clone()
    };
    let said = (&input.message_type, addressees, &content, &input.sender, input.expires_at);
    serde_json::to_vec(&said).map_err(Error::internal)
}

/// The fingerprint of a text that is to be published at an instant. Without one it is what it was before there were any.
fn at(text: &[u8], publish_at: Option<Millis>) -> i64 {
    match publish_at {
        None => fingerprint(text),
        Some(publish_at) => fingerprint(&[b"[", text, b",", publish_at.to_string().as_bytes(), b"]"].concat()),
    }
}

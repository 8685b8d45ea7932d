//! Idempotency keys: each belongs to whoever sends, the tenant's backend or one of its users.
//!
//! The backend's are kept as they are said. A user's are kept as a digest with their id, behind a character that no key contains:
//! so nobody's key is in the way of anybody else's, and all of them are unique by one index.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::input::Input;
use crate::domain::user::By;
use crate::error::{Error, Result};
use crate::model::{check, fingerprint};

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

/// 64 bits of a SHA-256 over everything that the caller said, but for the key itself.
pub(super) fn fingerprint(input: &Input) -> Result<i64> {
    let said = (&input.message_type, &input.addressees, &input.content, &input.sender, input.expires_at);
    // What is not scheduled has the fingerprint that it always had.
    let said = match input.publish_at {
        None => serde_json::to_vec(&said),
        Some(publish_at) => serde_json::to_vec(&(said, publish_at)),
    };
    Ok(fingerprint::fingerprint(&said.map_err(Error::internal)?))
}

//! Cookies that browsers keep for us, and can neither read nor change.

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::{KEY_BYTES, SignInConfig};
use crate::error::{Error, Result};
use crate::vault::Vault;

/// What a cookie is for, so that none is taken for another.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Attempt,
    Session,
    Hint,
}

/// Seals with a key of `TIDINGS_SECRET`, and opens with that of `TIDINGS_PREVIOUS_SECRET`, too.
pub struct Seals {
    vault: Vault,
    /// Whose they are: with another provider, or as another client of it, nobody is signed in.
    whose: String,
}

impl Seals {
    pub fn new(config: &SignInConfig) -> Result<Self> {
        let keys = config.secrets.iter().map(|secret| key(secret)).collect::<Result<_>>()?;
        Ok(Self { vault: Vault::of(keys)?, whose: format!("{} {}", config.issuer, config.client_id) })
    }

    /// A cookie's content.
    pub fn close(&self, kind: Kind, what: &impl Serialize) -> Result<String> {
        let text = serde_json::to_vec(what).map_err(Error::internal)?;
        self.vault.seal(&self.of(kind), &text)
    }

    /// What was closed as one of this kind; nothing for any other text.
    pub fn open<T: DeserializeOwned>(&self, kind: Kind, sealed: &str) -> Option<T> {
        let secret = self.vault.open(&self.of(kind), sealed).ok()?;
        // By way of a value: a struct with flattened fields finds no number in the text itself (`arbitrary_precision`).
        T::deserialize(serde_json::from_slice::<Value>(secret.bytes()).ok()?).ok()
    }

    fn of(&self, kind: Kind) -> String {
        format!("{kind:?} {}", self.whose)
    }
}

/// A key that says nothing of the secret from which it comes, nor is one of tokens (RFC 5869).
fn key(secret: &str) -> Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    let material = Salt::new(HKDF_SHA256, b"tidings").extract(secret.as_bytes());
    let expanded = material.expand(&[b"cookies of the desk"], HKDF_SHA256).and_then(|all| all.fill(&mut key));
    expanded.map_err(Error::internal)?;
    Ok(key)
}

//! Cookies that browsers keep for the server but can neither read nor change.

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use base::config::{KEY_BYTES, SignInConfig};
use base::error::{Error, Result};
use outside::vault::Vault;

/// The purpose of a cookie; it is authenticated, so that one kind cannot be used as another.
#[derive(Clone, Copy, Debug)]
pub enum CookieKind {
    Attempt,
    Session,
    Hint,
}

/// Encrypts with a key derived from `TIDINGS_SECRET`; also decrypts with that of `TIDINGS_PREVIOUS_SECRET`.
pub struct CookieCipher {
    vault: Vault,
    /// Issuer and client id. With another provider or client, all cookies become invalid.
    whose: String,
}

impl CookieCipher {
    pub fn new(config: &SignInConfig) -> Result<Self> {
        let keys = config.secrets.iter().map(|secret| derive_key(secret)).collect::<Result<_>>()?;
        Ok(Self { vault: Vault::from_keys(keys)?, whose: format!("{} {}", config.issuer, config.client_id) })
    }

    /// Encrypts a cookie's value.
    pub fn encrypt(&self, kind: CookieKind, what: &impl Serialize) -> Result<String> {
        let text = serde_json::to_vec(what).map_err(Error::internal)?;
        self.vault.seal(&self.cookie_context(kind), &text)
    }

    /// Decrypts a cookie's value; `None` unless it was encrypted as this kind.
    pub fn decrypt<T: DeserializeOwned>(&self, kind: CookieKind, sealed: &str) -> Option<T> {
        let secret = self.vault.open(&self.cookie_context(kind), sealed).ok()?;
        // Through a `Value`: with `arbitrary_precision`, structs with flattened fields cannot read numbers from text.
        T::deserialize(serde_json::from_slice::<Value>(secret.as_bytes()).ok()?).ok()
    }

    fn cookie_context(&self, kind: CookieKind) -> String {
        format!("{kind:?} {}", self.whose)
    }
}

/// Derives the cookie key (RFC 5869). It reveals nothing of the secret and differs from the key of tokens.
fn derive_key(secret: &str) -> Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    let material = Salt::new(HKDF_SHA256, b"tidings").extract(secret.as_bytes());
    let expanded = material.expand(&[b"cookies of the desk"], HKDF_SHA256).and_then(|all| all.fill(&mut key));
    expanded.map_err(Error::internal)?;
    Ok(key)
}

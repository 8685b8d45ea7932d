//! Encrypts tenants' secrets for the database, under a key that is not in it.
//!
//! AES-256-GCM with a random nonce per secret: safe for 2^32 secrets under one key (NIST SP 800-38D, section 8.3). A
//! secret's owner is authenticated with it, so that a writer to the database cannot pass off one secret as another.

use std::fmt::{self, Debug, Formatter};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use base::config::{KEY_BYTES, KeysConfig};
use base::error::{Error, Result};

/// The format: this byte, the key's id, the nonce, then the ciphertext with its 16-byte tag.
const VERSION: u8 = 1;
/// The bytes of a key's id.
const ID: usize = 4;
/// The bytes before the ciphertext.
const HEAD: usize = 1 + ID + NONCE_LEN;

/// Encrypts with `TIDINGS_KEY`, and decrypts with it or `TIDINGS_PREVIOUS_KEY`. Without a key both fail.
#[derive(Debug)]
pub struct Vault {
    keys: Vec<VaultKey>,
}

struct VaultKey {
    /// Identifies the key: a part of its hash, which reveals nothing about the key.
    id: [u8; ID],
    sealing: RandomizedNonceKey,
}

impl Debug for VaultKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A decrypted secret. Its `Debug` shows nothing of it.
pub struct DecryptedSecret(Vec<u8>);

impl DecryptedSecret {
    /// The secret's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Debug for DecryptedSecret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("DecryptedSecret")
    }
}

impl Vault {
    /// With the keys of the settings, if any.
    ///
    /// Fails with `Config` if a setting is not a valid key.
    pub fn new(config: &KeysConfig) -> Result<Self> {
        Self::from_keys(config.read_keys()?)
    }

    /// With these keys. The first one encrypts.
    pub fn from_keys(keys: Vec<[u8; KEY_BYTES]>) -> Result<Self> {
        let key = |bytes: [u8; KEY_BYTES]| {
            let sealing = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(Error::internal)?;
            Ok(VaultKey { id: key_id(&bytes), sealing })
        };
        Ok(Self { keys: keys.into_iter().map(key).collect::<Result<_>>()? })
    }

    /// Fails if there is no key, as `seal` would. For requests that will need a key later.
    pub fn require_key(&self) -> Result<()> {
        self.current_key().map(|_| ())
    }

    /// Encrypts a secret for `of`, such as a tenant, a table and a row. Adds 33 bytes, and base64 a third.
    ///
    /// Fails with `Conflict`, which names the setting, if there is no key.
    pub fn seal(&self, of: &str, secret: &[u8]) -> Result<String> {
        let key = self.current_key()?;
        let mut closed = secret.to_vec();
        let aad = Aad::from(associated_data(key.id, of));
        let nonce = key.sealing.seal_in_place_append_tag(aad, &mut closed).map_err(Error::internal)?;
        let all = [&[VERSION][..], &key.id, nonce.as_ref(), &closed].concat();
        Ok(URL_SAFE_NO_PAD.encode(all))
    }

    /// Decrypts a secret that `seal` encrypted for `of`.
    ///
    /// Fails with `Conflict` if there is no key, with `Config` if the secret's key is not set, and with `Internal` if
    /// the text was changed or was encrypted for another `of`.
    pub fn open(&self, of: &str, sealed: &str) -> Result<DecryptedSecret> {
        self.current_key()?;
        let mut all = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| broken_secret())?;
        let (head, closed) = all.split_at_mut_checked(HEAD).ok_or_else(broken_secret)?;
        let (version, head) = head.split_at(1);
        let (id, nonce) = head.split_at(ID);
        if version != [VERSION] {
            return Err(broken_secret());
        }
        let key = self.keys.iter().find(|key| key.id == id).ok_or_else(|| {
            Error::Config(
                "a secret was encrypted with a key that is neither TIDINGS_KEY nor TIDINGS_PREVIOUS_KEY".into(),
            )
        })?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| broken_secret())?;
        let aad = Aad::from(associated_data(key.id, of));
        key.sealing
            .open_in_place(nonce, aad, closed)
            .map(|secret| DecryptedSecret(secret.to_vec()))
            .map_err(|_| broken_secret())
    }

    /// Re-encrypts a secret with `TIDINGS_KEY`. `None` if it uses that key already.
    ///
    /// Once all secrets do, the previous key can be removed.
    pub fn reseal(&self, of: &str, sealed: &str) -> Result<Option<String>> {
        let is_current = |id: &[u8]| self.keys.first().is_some_and(|key| key.id == id);
        if URL_SAFE_NO_PAD.decode(sealed).ok().and_then(|all| all.get(1..=ID).map(is_current)) == Some(true) {
            return Ok(None);
        }
        let secret = self.open(of, sealed)?;
        self.seal(of, secret.as_bytes()).map(Some)
    }

    fn current_key(&self) -> Result<&VaultKey> {
        self.keys
            .first()
            .ok_or_else(|| Error::Conflict("the server cannot store secrets: an operator must set TIDINGS_KEY".into()))
    }
}

/// The additional authenticated data, which is not stored.
fn associated_data(id: [u8; ID], of: &str) -> Vec<u8> {
    [&[VERSION][..], &id, of.as_bytes()].concat()
}

fn key_id(key: &[u8]) -> [u8; ID] {
    let hash = Sha256::new().chain_update("the id of a key of tidings: ").chain_update(key).finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

fn broken_secret() -> Error {
    Error::internal("an encrypted secret is corrupt, or was moved from another row")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::Vault;
    use base::config::KeysConfig;
    use base::error::Error;

    const OLD: &str = "0101010101010101010101010101010101010101010101010101010101010101";
    const NEW: &str = "0202020202020202020202020202020202020202020202020202020202020202";

    fn vault(key: Option<&str>, previous_key: Option<&str>) -> Vault {
        let config = KeysConfig { key: key.map(Into::into), previous_key: previous_key.map(Into::into) };
        Vault::new(&config).unwrap()
    }

    #[test]
    fn what_was_sealed_opens_for_what_it_belongs_to_and_nothing_else() {
        let vault = vault(Some(NEW), None);
        for secret in [&b""[..], b"whsec_hunter2", &[0; 5000]] {
            let sealed = vault.seal("1/endpoint/7", secret).unwrap();
            assert_eq!(vault.open("1/endpoint/7", &sealed).unwrap().as_bytes(), secret);
            assert!(sealed.is_ascii() && !sealed.contains("hunter2"));
            assert_eq!(sealed.len(), (4 * (secret.len() + 33)).div_ceil(3));
            for other in ["1/endpoint/8", "2/endpoint/7", ""] {
                assert!(matches!(vault.open(other, &sealed), Err(Error::Internal(_))), "{other}");
            }
        }
        let [one, two] = [0, 1].map(|_| vault.seal("a", b"hunter2").unwrap());
        assert_ne!(one, two, "each encryption has another nonce");
        let debug = format!("{vault:?} {:?}", vault.open("a", &one).unwrap());
        assert!(!debug.contains("hunter2") && !debug.contains("104, 117") && !debug.contains("2, 2, 2, 2"), "{debug}");
    }

    #[test]
    fn each_byte_counts() {
        let vault = vault(Some(NEW), None);
        let sealed = URL_SAFE_NO_PAD.decode(vault.seal("a", b"hunter2").unwrap()).unwrap();
        for place in 0..sealed.len() {
            let mut other = sealed.clone();
            other[place] ^= 1;
            assert!(vault.open("a", &URL_SAFE_NO_PAD.encode(&other)).is_err(), "byte {place}");
            assert!(vault.open("a", &URL_SAFE_NO_PAD.encode(&sealed[..place])).is_err(), "{place} bytes");
        }
        for wrong in ["", "no base64!", "AQ"] {
            assert!(matches!(vault.open("a", wrong), Err(Error::Internal(_))), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_replaced_while_both_open() {
        let sealed = vault(Some(OLD), None).seal("a", b"hunter2").unwrap();
        let both = vault(Some(NEW), Some(OLD));
        assert_eq!(both.open("a", &sealed).unwrap().as_bytes(), b"hunter2");
        let told = vault(Some(NEW), None).open("a", &sealed).unwrap_err();
        assert!(matches!(told, Error::Config(_)) && told.to_string().contains("TIDINGS_PREVIOUS_KEY"), "{told}");
        let renewed = both.reseal("a", &sealed).unwrap().unwrap();
        assert_eq!(vault(Some(NEW), None).open("a", &renewed).unwrap().as_bytes(), b"hunter2");
        assert_eq!(both.reseal("a", &renewed).unwrap(), None);
        assert!(both.reseal("b", &sealed).is_err());
    }

    #[test]
    fn without_a_key_nothing_is_kept_and_the_setting_is_named() {
        let vault = vault(None, None);
        for told in [vault.require_key(), vault.seal("a", b"b").map(drop), vault.open("a", "b").map(drop)] {
            let told = told.unwrap_err();
            assert!(matches!(told, Error::Conflict(_)) && told.to_string().contains("TIDINGS_KEY"), "{told}");
        }
    }
}

//! Encryption keys for secrets of tenants.

use std::fmt::{self, Debug, Formatter};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use clap::Args;

use crate::error::{Error, Result};

/// Bytes of an AES-256 key.
pub const KEY_BYTES: usize = 32;

/// Settings of encryption at rest.
#[derive(Args, Clone, Default)]
pub struct KeysConfig {
    /// Key that encrypts secrets of tenants in the database: 32 bytes, as base64 or 64 hexadecimal digits.
    #[arg(long, env = "TIDINGS_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// Previous key, still accepted for decryption while `TIDINGS_KEY` replaces it; same form.
    #[arg(long, env = "TIDINGS_PREVIOUS_KEY", hide_env_values = true)]
    pub previous_key: Option<String>,
}

/// Shows whether keys are set, and never the keys.
impl Debug for KeysConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [key, previous_key] = [&self.key, &self.previous_key].map(Option::is_some);
        f.debug_struct("KeysConfig").field("key", &key).field("previous_key", &previous_key).finish()
    }
}

impl KeysConfig {
    /// The keys, the one that encrypts first. Empty if none is set.
    ///
    /// Fails with `Config`, which names the setting but never shows its value.
    pub fn read_keys(&self) -> Result<Vec<[u8; KEY_BYTES]>> {
        if self.key.is_none() && self.previous_key.is_some() {
            return Err(Error::Config(
                "TIDINGS_PREVIOUS_KEY is set, but TIDINGS_KEY is not: set it, to the same key if there is no new one"
                    .into(),
            ));
        }
        let set = [("TIDINGS_KEY", &self.key), ("TIDINGS_PREVIOUS_KEY", &self.previous_key)];
        let set = set.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        set.map(|(name, text)| {
            parse_key(text.trim()).ok_or_else(|| {
                Error::Config(format!(
                    "{name} must be {KEY_BYTES} bytes, in base64 or as {} hexadecimal digits: `openssl rand -base64 {KEY_BYTES}` creates one",
                    2 * KEY_BYTES
                ))
            })
        })
        .collect()
    }
}

/// 64 hexadecimal digits would be 48 bytes as base64, so the two forms cannot be confused.
fn parse_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    if text.len() == 2 * KEY_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let mut key = [0; KEY_BYTES];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        return Some(key);
    }
    let text = text.trim_end_matches('=');
    STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::KeysConfig;
    use crate::error::Error;

    fn keys(key: Option<&str>, previous_key: Option<&str>) -> KeysConfig {
        KeysConfig { key: key.map(Into::into), previous_key: previous_key.map(Into::into) }
    }

    #[test]
    fn a_key_is_written_as_base64_of_either_kind_or_as_hexadecimal_digits() {
        let all = [0xfb; 32];
        let standard = "+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/s=";
        for text in [standard, &standard.replace('+', "-").replace('/', "_"), &standard[..43], &"fB".repeat(32)] {
            assert_eq!(keys(Some(text), None).read_keys().unwrap(), [all], "{text}");
        }
        let both = keys(Some(&"01".repeat(32)), Some(&"02".repeat(32))).read_keys().unwrap();
        assert_eq!(both, [[1; 32], [2; 32]]);
        assert!(keys(None, None).read_keys().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_key_is_named_by_its_setting_and_not_shown() {
        let whole = "01".repeat(32);
        for (keys, name) in [
            (keys(Some("hunter2"), None), "TIDINGS_KEY must be 32 bytes"),
            (keys(Some(""), None), "TIDINGS_KEY must be"),
            (keys(Some(&"hunter2".repeat(10)), None), "TIDINGS_KEY must be"),
            (keys(Some(&whole), Some("hunter2")), "TIDINGS_PREVIOUS_KEY must be"),
            (keys(None, Some(&whole)), "TIDINGS_KEY is not"),
        ] {
            let told = keys.read_keys().unwrap_err();
            assert!(matches!(told, Error::Config(_)), "{told:?}");
            assert!(told.to_string().contains(name) && !told.to_string().contains("hunter2"), "{told}");
            assert!(!format!("{keys:?}").contains("hunter2") && !format!("{keys:?}").contains("0101"));
        }
    }
}

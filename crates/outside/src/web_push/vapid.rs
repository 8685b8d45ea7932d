//! Identifies the tenant to push services: VAPID, RFC 8292.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use parking_lot::Mutex;
use serde::Serialize;

use super::encoding::encode_base64url;
use base::clock::Millis;
use base::error::{Error, Result};

/// Validity of a token in milliseconds; push services accept up to 24 hours, by their own clocks.
const GOOD: Millis = 12 * 3_600_000;
/// Minimum validity left when a token is reused. Push services may cache the validation of a token.
const LEFT: Millis = GOOD / 2;
/// Maximum cached tokens.
const TOKENS: usize = 1000;

/// A key pair as it is stored.
pub struct VapidKeyPair {
    /// PKCS #8; must be encrypted before it is stored.
    pub private: Vec<u8>,
    /// For `PushManager.subscribe`: the uncompressed point in base64url.
    pub public: String,
}

impl Debug for VapidKeyPair {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidKeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

impl VapidKeyPair {
    /// Generates a key pair.
    pub fn generate() -> Result<Self> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(Error::internal)?;
        let private = pair.to_pkcs8v1().map_err(Error::internal)?.as_ref().to_vec();
        Ok(Self { private, public: encode_base64url(pair.public_key().as_ref()) })
    }
}

/// A tenant as the sender of messages.
#[derive(Clone)]
pub struct VapidSender {
    key: EncodingKey,
    public: String,
    contact: String,
}

impl Debug for VapidSender {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidSender").field("public", &self.public).finish_non_exhaustive()
    }
}

impl VapidSender {
    /// `private` is that of a [`VapidKeyPair`]; `contact` is a `mailto:` or `https:` URL at which push services reach
    /// the sender.
    pub fn new(private: &[u8], public: &str, contact: &str) -> Result<Self> {
        // Validate the key here, so that an invalid one does not fail each message.
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private).map_err(Error::internal)?;
        Ok(Self { key: EncodingKey::from_ec_der(private), public: public.to_owned(), contact: contact.to_owned() })
    }

    pub(super) fn public_key(&self) -> &str {
        &self.public
    }
}

#[derive(Serialize)]
struct VapidClaims<'a> {
    aud: &'a str,
    exp: Millis,
    sub: &'a str,
}

/// Cached tokens: one for each sender and push service.
#[derive(Default)]
pub(super) struct VapidTokenCache(Mutex<HashMap<[String; 3], VapidToken>>);

struct VapidToken {
    text: String,
    until: Millis,
}

impl Debug for VapidTokenCache {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("VapidTokenCache")
    }
}

impl VapidTokenCache {
    /// The token of a sender for the origin of an endpoint.
    pub fn get_or_sign(&self, sender: &VapidSender, origin: &str, now: Millis) -> Result<String> {
        let of = [&sender.public, &sender.contact, origin].map(ToOwned::to_owned);
        let is_good = |token: &&VapidToken| (now + LEFT..=now + GOOD).contains(&token.until);
        if let Some(token) = self.0.lock().get(&of).filter(is_good) {
            return Ok(token.text.clone());
        }
        let until = now + GOOD;
        let claims = VapidClaims { aud: origin, exp: until / 1000, sub: &sender.contact };
        let text = encode(&Header::new(Algorithm::ES256), &claims, &sender.key).map_err(Error::internal)?;
        let mut all = self.0.lock();
        if all.len() >= TOKENS {
            all.clear();
        }
        all.insert(of, VapidToken { text: text.clone(), until });
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::super::encoding::decode_base64url;
    use super::{TOKENS, VapidKeyPair, VapidSender, VapidTokenCache};

    const NOW: i64 = 1_800_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn sender(pair: &VapidKeyPair) -> VapidSender {
        VapidSender::new(&pair.private, &pair.public, "mailto:ops@shop.example").unwrap()
    }

    #[test]
    fn a_token_says_to_whom_until_when_and_by_whom_and_is_signed() {
        let pair = VapidKeyPair::generate().unwrap();
        let token = VapidTokenCache::default().get_or_sign(&sender(&pair), "https://push.example", NOW).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let read = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(read(parts[0]), json!({ "typ": "JWT", "alg": "ES256" }));
        let claims =
            json!({ "aud": "https://push.example", "exp": NOW / 1000 + 43_200, "sub": "mailto:ops@shop.example" });
        assert_eq!(read(parts[1]), claims);
        let point: [u8; 65] = decode_base64url(&pair.public).unwrap();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        let signed = format!("{}.{}", parts[0], parts[1]);
        key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(parts[2]).unwrap()).unwrap();
        assert!(!format!("{pair:?} {:?}", sender(&pair)).contains("private"));
    }

    #[test]
    fn a_token_is_used_again_for_six_hours_by_one_sender_at_one_service() {
        let [pair, other] = [0, 1].map(|_| VapidKeyPair::generate().unwrap());
        let tokens = VapidTokenCache::default();
        let of = |pair: &VapidKeyPair, origin: &str, now: i64| tokens.get_or_sign(&sender(pair), origin, now).unwrap();
        let first = of(&pair, "https://a.example", NOW);
        assert_eq!(of(&pair, "https://a.example", NOW + 6 * HOUR), first);
        assert_ne!(of(&other, "https://a.example", NOW), first);
        assert_ne!(of(&pair, "https://b.example", NOW), first);
        assert_ne!(of(&pair, "https://a.example", NOW + 6 * HOUR + 1), first);
        let later = of(&pair, "https://a.example", NOW + 48 * HOUR);
        assert_ne!(
            of(&pair, "https://a.example", NOW),
            later,
            "a clock that was wrong makes no token that lasts for too long"
        );
        for number in 0..TOKENS + 10 {
            of(&pair, &format!("https://{number}.example"), NOW);
        }
        assert!(tokens.0.lock().len() <= TOKENS);
        assert!(VapidSender::new(b"no key", &pair.public, "mailto:a@b.example").is_err());
    }
}

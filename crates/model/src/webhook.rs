//! Headers that authenticate a webhook request: Standard Webhooks
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).

use std::fmt::{self, Debug, Formatter};
use std::ops::RangeInclusive;

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use base::clock::Millis;
use base::error::{Error, Result};

/// Prefix of a secret; it makes leaked secrets recognizable.
const PREFIX: &str = "whsec_";
/// Bytes of a secret.
const SECRET_BYTES: RangeInclusive<usize> = 24..=64;

/// The secret shared with an endpoint. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

impl Debug for SigningSecret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

impl SigningSecret {
    /// Generates a secret of 32 random bytes.
    pub fn generate() -> Result<Self> {
        let mut bytes = vec![0; 32];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        Ok(Self(bytes))
    }

    /// Parses the form of `to_text`: `whsec_` and 24 to 64 bytes in base64.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        SECRET_BYTES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The form that receivers use.
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// `v1,` and the base64 HMAC-SHA256 of id, seconds and body.
    fn sign(&self, id: &str, seconds: &str, body: &[u8]) -> String {
        let mut signing = hmac::Context::with_key(&hmac::Key::new(HMAC_SHA256, &self.0));
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            signing.update(part);
        }
        format!("v1,{}", STANDARD.encode(signing.sign()))
    }
}

/// The headers of an attempt, with one signature per secret: two secrets while one replaces the other.
///
/// The id is the same for all attempts of a delivery and has no dot.
pub fn attempt_headers(id: &str, now: Millis, body: &[u8], secrets: &[SigningSecret]) -> [(&'static str, String); 3] {
    debug_assert!(!id.contains('.'), "it would not be clear where the id ends");
    let seconds = now.div_euclid(1000).to_string();
    let signatures: Vec<_> = secrets.iter().map(|secret| secret.sign(id, &seconds, body)).collect();
    [("webhook-id", id.to_owned()), ("webhook-signature", signatures.join(" ")), ("webhook-timestamp", seconds)]
}

#[cfg(test)]
mod tests {
    use super::{SigningSecret, attempt_headers};

    /// The test vector of the specification's own libraries (`libraries/go/webhook_test.go` of standard-webhooks,
    /// `TestWebhookSign`).
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        let [id, signature, timestamp] = attempt_headers(ID, 1_614_265_330_999, BODY, &[secret]);
        assert_eq!(id, ("webhook-id", ID.to_owned()));
        assert_eq!(timestamp, ("webhook-timestamp", "1614265330".to_owned()), "whole seconds, the one that has begun");
        assert_eq!(signature, ("webhook-signature", SIGNATURE.to_owned()));
    }

    #[test]
    fn whoever_changes_anything_changes_the_signature() {
        let of = |id, now, body, secret| {
            attempt_headers(id, now, body, &[SigningSecret::parse(secret).unwrap()])[1].1.clone()
        };
        let other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx";
        for signature in [
            of("msg_", 1_614_265_330_000, BODY, SECRET),
            of(ID, 1_614_265_331_000, BODY, SECRET),
            of(ID, 1_614_265_330_000, b"{}", SECRET),
            of(ID, 1_614_265_330_000, BODY, other),
        ] {
            assert_ne!(signature, SIGNATURE);
        }
    }

    #[test]
    fn while_one_secret_replaces_another_each_signs() {
        let secrets = [SigningSecret::generate().unwrap(), SigningSecret::parse(SECRET).unwrap()];
        let [_, (_, signatures), _] = attempt_headers(ID, 1_614_265_330_000, BODY, &secrets);
        let (first, second) = signatures.split_once(' ').unwrap();
        assert!(first.starts_with("v1,") && first.len() == SIGNATURE.len() && first != SIGNATURE);
        assert_eq!(second, SIGNATURE);
    }

    #[test]
    fn a_secret_is_of_24_to_64_bytes_and_shown_to_nobody_by_mistake() {
        let secret = SigningSecret::generate().unwrap();
        assert_eq!(SigningSecret::parse(&secret.to_text()).as_ref(), Some(&secret));
        assert_ne!(SigningSecret::generate().unwrap(), secret);
        assert_eq!(secret.to_text().len(), 6 + 44);
        assert_eq!(format!("{secret:?}"), "SigningSecret");
        let of = |bytes: usize| SigningSecret::parse(&SigningSecret(vec![7; bytes]).to_text()).is_some();
        assert_eq!([23, 24, 64, 65].map(of), [false, true, true, false]);
        for wrong in [
            "",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_no base64",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        ] {
            assert_eq!(SigningSecret::parse(wrong), None, "{wrong}");
        }
    }
}

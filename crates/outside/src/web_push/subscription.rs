//! A browser's push endpoint and its encryption keys.

use std::fmt::{self, Debug, Formatter};

use aws_lc_rs::agreement::{ECDH_P256, ParsedPublicKey, UnparsedPublicKey};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::encoding::{decode_base64url, encode_base64url};
use crate::egress::safe_origin;
use base::error::{Error, Result};

/// Bytes of an uncompressed P-256 point.
pub(super) const POINT: usize = 65;
/// Bytes of the browser's `auth` secret.
pub(super) const SECRET: usize = 16;

/// A browser's `PushSubscription`.
#[derive(Clone)]
pub struct PushSubscription {
    pub endpoint: String,
    /// The origin of its push service.
    pub origin: String,
    /// The browser's public key.
    pub(super) point: [u8; POINT],
    pub(super) secret: [u8; SECRET],
}

/// Shows nothing: anyone who knows the endpoint could send requests to it.
impl Debug for PushSubscription {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("PushSubscription")
    }
}

impl PushSubscription {
    /// Parses the JSON of a `PushSubscription`: `endpoint` and `keys` with `p256dh` and `auth`; other fields are
    /// ignored.
    ///
    /// Fails with `BadInput`, which names the field.
    pub fn parse(of: &Value) -> Result<Self> {
        let text = |field: &str, value: &Value| {
            value.as_str().map(ToOwned::to_owned).ok_or_else(|| Error::bad_input(field, "must be a string"))
        };
        let endpoint = text("endpoint", &of["endpoint"])?;
        let point = text("keys.p256dh", &of["keys"]["p256dh"])?;
        let point = decode_base64url(&point).filter(is_on_the_curve).ok_or_else(|| {
            Error::bad_input("keys.p256dh", "must be an uncompressed point of P-256: 65 bytes in base64url")
        })?;
        let secret = text("keys.auth", &of["keys"]["auth"])?;
        let secret =
            decode_base64url(&secret).ok_or_else(|| Error::bad_input("keys.auth", "must be 16 bytes in base64url"))?;
        Ok(Self { origin: safe_origin(&endpoint), endpoint, point, secret })
    }

    /// Restores a subscription from its endpoint and the stored [`stored_keys`](Self::stored_keys).
    pub fn from_stored(endpoint: &str, keys: &str) -> Option<Self> {
        let all: [u8; POINT + SECRET] = decode_base64url(keys)?;
        let (point, secret) = all.split_at(POINT);
        Some(Self {
            endpoint: endpoint.to_owned(),
            origin: safe_origin(endpoint),
            point: point.try_into().ok()?,
            secret: secret.try_into().ok()?,
        })
    }

    /// The keys as stored: 108 characters.
    pub fn stored_keys(&self) -> String {
        encode_base64url(&[&self.point[..], &self.secret].concat())
    }
}

fn is_on_the_curve(point: &[u8; POINT]) -> bool {
    ParsedPublicKey::try_from(UnparsedPublicKey::new(&ECDH_P256, point)).is_ok()
}

/// Hash of an endpoint, for lookups: always 43 characters.
pub fn endpoint_hash(endpoint: &str) -> String {
    encode_base64url(&Sha256::digest(endpoint))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::PushSubscription;
    use base::error::Error;

    const POINT: &str = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const SECRET: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    #[test]
    fn what_a_browser_says_is_read_and_kept() {
        let said = json!({ "endpoint": "https://push.example/1", "expirationTime": null, "keys": { "p256dh": POINT, "auth": SECRET } });
        let read = PushSubscription::parse(&said).unwrap();
        let padded = json!({ "endpoint": "https://push.example/1", "keys": { "p256dh": format!("{POINT}="), "auth": format!("{SECRET}==") } });
        assert_eq!(PushSubscription::parse(&padded).unwrap().stored_keys(), read.stored_keys());
        for plain in [format!("{POINT}="), POINT.to_owned()].map(|point| point.replace('-', "+").replace('_', "/")) {
            let keys = json!({ "p256dh": plain, "auth": SECRET.replace('_', "/") });
            let said = json!({ "endpoint": "https://push.example/1", "keys": keys });
            assert_eq!(PushSubscription::parse(&said).unwrap().stored_keys(), read.stored_keys(), "{plain}");
        }
        let kept = PushSubscription::from_stored(&read.endpoint, &read.stored_keys()).unwrap();
        assert_eq!((kept.point, kept.secret, read.stored_keys().len()), (read.point, read.secret, 108));
        assert!(PushSubscription::from_stored("https://push.example/1", SECRET).is_none());
        assert_eq!(format!("{read:?}"), "PushSubscription");
    }

    #[test]
    fn what_is_none_is_named() {
        let off_the_curve = POINT.replace("iw4", "iw8");
        let compressed = "AiVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx";
        for (point, secret, field) in [
            (json!(off_the_curve), json!(SECRET), "keys.p256dh"),
            (json!(compressed), json!(SECRET), "keys.p256dh"),
            (json!(SECRET), json!(SECRET), "keys.p256dh"),
            (json!("no base64!"), json!(SECRET), "keys.p256dh"),
            (json!(null), json!(SECRET), "keys.p256dh"),
            (json!(POINT), json!(POINT), "keys.auth"),
            (json!(POINT), json!(7), "keys.auth"),
        ] {
            let said = json!({ "endpoint": "https://push.example/1", "keys": { "p256dh": point, "auth": secret } });
            let Err(Error::BadInput { field: told, .. }) = PushSubscription::parse(&said) else { panic!("{said}") };
            assert_eq!(told, field, "{said}");
        }
        for said in [json!(null), json!("text"), json!([1]), json!({ "endpoint": 7 })] {
            let Err(Error::BadInput { field, .. }) = PushSubscription::parse(&said) else { panic!("{said}") };
            assert_eq!(field, "endpoint", "{said}");
        }
    }
}

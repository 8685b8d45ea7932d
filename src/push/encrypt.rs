//! Encrypts messages for one browser: RFC 8291, based on RFC 8188.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};

use super::Subscription;
use crate::error::{Error, Result};

const SALT: usize = 16;
/// Bytes of a record. Every push service accepts this size, and each message is one record.
const RECORD: u32 = 4096;
/// Delimiter of the last record.
const END: u8 = 2;

/// Encrypts a message for a browser, as a body with `Content-Encoding: aes128gcm`. Adds 103 bytes.
pub(super) fn encrypt(to: &Subscription, text: &[u8]) -> Result<Vec<u8>> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(Error::internal)?;
    let key = PrivateKey::generate(&ECDH_P256).map_err(Error::internal)?;
    encrypted(to, text, &key, salt).map_err(Error::internal)
}

/// `key` and `salt` must not be used for anything else.
fn encrypted(to: &Subscription, text: &[u8], key: &PrivateKey, salt: [u8; SALT]) -> Result<Vec<u8>, Unspecified> {
    let own = key.compute_public_key()?;
    let (theirs, own) = (&to.point[..], own.as_ref());
    let secret: [u8; 32] = agree(key, UnparsedPublicKey::new(&ECDH_P256, theirs), Unspecified, |shared| {
        derived(&to.secret, shared, &[b"WebPush: info\0", theirs, own])
    })?;
    let key: [u8; 16] = derived(&salt, &secret, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derived(&salt, &secret, &[b"Content-Encoding: nonce\0"])?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let mut record = [text, &[END]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let length = u8::try_from(own.len()).map_err(|_| Unspecified)?;
    Ok([&salt[..], &RECORD.to_be_bytes(), &[length], own, &record].concat())
}

/// HKDF (RFC 5869).
fn derived<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut key = [0; N];
    Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, Bytes(N))?.fill(&mut key)?;
    Ok(key)
}

/// The length of a key in bytes.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
    use serde_json::json;

    use super::super::Subscription;
    use super::super::encoding::{decoded, encoded};
    use super::{encrypt, encrypted};

    const TEXT: &[u8] = b"When I grow up, I want to be a watermelon";

    /// The browser of RFC 8291, appendix A.
    fn browser() -> Subscription {
        let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let keys = json!({ "p256dh": point, "auth": "BTBZMqHH6r4Tts7J_aSIgg" });
        Subscription::read(&json!({ "endpoint": "https://push.example/1", "keys": keys })).unwrap()
    }

    #[test]
    fn it_is_encrypted_as_in_the_appendix_of_rfc_8291() {
        let key: [u8; 32] = decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let key = PrivateKey::from_private_key(&ECDH_P256, &key).unwrap();
        let body = encrypted(&browser(), TEXT, &key, decoded("DGv6ra1nlYgDCS1FRnbzlw").unwrap()).unwrap();
        assert_eq!(
            encoded(&body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_\
             yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn each_message_has_a_key_of_its_own() {
        let [one, two] = [0, 1].map(|_| encrypt(&browser(), TEXT).unwrap());
        assert_eq!(one.len(), TEXT.len() + 103);
        assert_ne!(one[..16], two[..16], "the salt");
        assert_ne!(one[21..86], two[21..86], "the key");
    }
}

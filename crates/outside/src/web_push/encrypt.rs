//! Encrypts messages for one browser: RFC 8291, based on RFC 8188.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};

use super::PushSubscription;
use base::error::{Error, Result};

const SALT: usize = 16;
/// Bytes of a record. Every push service accepts this size, and each message is one record.
const RECORD: u32 = 4096;
/// Delimiter of the last record.
const END: u8 = 2;

/// Encrypts a message for a browser, as a body with `Content-Encoding: aes128gcm`. Adds 103 bytes.
pub(super) fn encrypt_message(to: &PushSubscription, text: &[u8]) -> Result<Vec<u8>> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(Error::internal)?;
    let key = PrivateKey::generate(&ECDH_P256).map_err(Error::internal)?;
    encrypt_with(to, text, &key, salt).map_err(Error::internal)
}

/// `key` and `salt` must not be used for anything else.
fn encrypt_with(
    to: &PushSubscription,
    text: &[u8],
    key: &PrivateKey,
    salt: [u8; SALT],
) -> Result<Vec<u8>, Unspecified> {
    let own = key.compute_public_key()?;
    let (theirs, own) = (&to.point[..], own.as_ref());
    let secret: [u8; 32] = agree(key, UnparsedPublicKey::new(&ECDH_P256, theirs), Unspecified, |shared| {
        derive_key(&to.secret, shared, &[b"WebPush: info\0", theirs, own])
    })?;
    let key: [u8; 16] = derive_key(&salt, &secret, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derive_key(&salt, &secret, &[b"Content-Encoding: nonce\0"])?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let mut record = [text, &[END]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let length = u8::try_from(own.len()).map_err(|_| Unspecified)?;
    Ok([&salt[..], &RECORD.to_be_bytes(), &[length], own, &record].concat())
}

/// HKDF (RFC 5869).
fn derive_key<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut key = [0; N];
    Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, KeyLength(N))?.fill(&mut key)?;
    Ok(key)
}

/// The length of a key in bytes.
struct KeyLength(usize);

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
    use serde_json::json;

    use super::super::PushSubscription;
    use super::super::encoding::{decode_base64url, encode_base64url};
    use super::{encrypt_message, encrypt_with};

    const TEXT: &[u8] = b"When I grow up, I want to be a watermelon";

    /// The browser of RFC 8291, appendix A.
    fn browser() -> PushSubscription {
        let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let keys = json!({ "p256dh": point, "auth": "BTBZMqHH6r4Tts7J_aSIgg" });
        PushSubscription::parse(&json!({ "endpoint": "https://push.example/1", "keys": keys })).unwrap()
    }

    #[test]
    fn it_is_encrypted_as_in_the_appendix_of_rfc_8291() {
        let key: [u8; 32] = decode_base64url("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let key = PrivateKey::from_private_key(&ECDH_P256, &key).unwrap();
        let body = encrypt_with(&browser(), TEXT, &key, decode_base64url("DGv6ra1nlYgDCS1FRnbzlw").unwrap()).unwrap();
        assert_eq!(
            encode_base64url(&body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_\
             yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn each_message_has_a_key_of_its_own() {
        let [one, two] = [0, 1].map(|_| encrypt_message(&browser(), TEXT).unwrap());
        assert_eq!(one.len(), TEXT.len() + 103);
        assert_ne!(one[..16], two[..16], "the salt");
        assert_ne!(one[21..86], two[21..86], "the key");
    }
}

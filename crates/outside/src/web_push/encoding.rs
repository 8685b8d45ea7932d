//! base64url without padding, as browsers and push services use it. Decoding also accepts plain base64 and padding,
//! which some libraries write.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn encode_base64url(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes exactly `N` bytes; `None` for anything else.
pub(super) fn decode_base64url<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_plain = text.contains(['+', '/']);
    let text = if is_plain { Cow::Owned(text.replace('+', "-").replace('/', "_")) } else { Cow::Borrowed(text) };
    BASE64.decode(text.as_bytes()).ok()?.try_into().ok()
}

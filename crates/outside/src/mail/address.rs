//! Validation of email addresses.

use lettre::Address;
use lettre::message::Mailbox;
use reqwest::Url;

use base::error::{Error, Result};

/// Maximum bytes of an address (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const ADDRESS_BYTES: usize = 254;
/// Maximum bytes before the `@` (RFC 5321, section 4.5.3.1.1).
const LOCAL_BYTES: usize = 64;
/// Maximum bytes of the name before an address.
const NAME_BYTES: usize = 200;

/// Validates an address and returns it as it is stored: at most 254 bytes, without a name, comments or quotes. The
/// domain is in lower case, and in Punycode if it is not ASCII. The part before the `@` must be ASCII and stays as it
/// is.
///
/// Fails with `BadInput`; the caller adds the field (`Error::with_field_prefix`).
pub fn normalize_address(text: &str) -> Result<String> {
    let wrong = |why: &str| Error::bad_input("", why);
    if text.len() > ADDRESS_BYTES {
        return Err(wrong("must be an e-mail address of at most 254 bytes"));
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return Err(wrong("must be an e-mail address such as ada@example.com"));
    };
    let is_atom = |atom: &str| {
        let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        !atom.is_empty() && atom.bytes().all(is_one)
    };
    if local.len() > LOCAL_BYTES || !local.split('.').all(is_atom) {
        return Err(wrong(
            "must have at most 64 letters and digits of ASCII and marks such as . + - _ before the @, without quotes",
        ));
    }
    let kept = ascii_domain(domain).map(|domain| format!("{local}@{domain}"));
    kept.filter(|kept| kept.len() <= ADDRESS_BYTES && kept.parse::<Address>().is_ok())
        .ok_or_else(|| wrong("must have the name of a domain after the @, such as example.com"))
}

/// The domain as DNS has it, in Punycode if necessary.
fn ascii_domain(text: &str) -> Option<String> {
    let is_written = |char: char| char.is_alphanumeric() || "-.".contains(char) || !char.is_ascii();
    let has_ends = text.ends_with('.') || text.chars().any(char::is_whitespace);
    if text.is_empty() || has_ends || !text.chars().all(is_written) {
        return None;
    }
    let url = Url::parse(&format!("https://{text}/")).ok()?;
    url.domain().map(str::to_owned)
}

/// Parses an address with an optional name: `Ada <ada@example.com>`.
///
/// Fails with `BadInput`; the caller adds the field.
pub(super) fn parse_mailbox(text: &str) -> Result<Mailbox> {
    let parts = text.trim().strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    let (name, kept) = parts.map_or(("", text.trim()), |(name, kept)| (name.trim(), kept));
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name).trim();
    if name.len() > NAME_BYTES || name.chars().any(char::is_control) {
        return Err(Error::bad_input("", "must have a name of at most 200 bytes, without control characters"));
    }
    let email = normalize_address(kept)?.parse().map_err(Error::internal)?;
    Ok(Mailbox::new((!name.is_empty()).then(|| name.to_owned()), email))
}

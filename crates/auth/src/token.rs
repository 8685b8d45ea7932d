//! Parsing of tokens and verification of signatures.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Header, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims::UniqueClaims;
use base::error::{Error, Result};
use base::json::has_reserved_key;

/// The `aud` claim.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum TokenAudience {
    One(String),
    Many(Vec<String>),
}

impl TokenAudience {
    /// Whether it includes this audience.
    pub fn contains(&self, whom: &str) -> bool {
        match self {
            Self::One(of) => of == whom,
            Self::Many(all) => all.iter().any(|of| of == whom),
        }
    }
}

/// Rule for names in claims, worded to follow "the claim …".
pub const NAME: &str = "must have 1 to 128 characters, no control characters and no white space at its ends";

/// Whether a claim can name a tenant or a user.
pub fn is_valid_name(claim: &str) -> bool {
    (1..=128).contains(&claim.chars().count())
        && !claim.chars().any(char::is_control)
        && claim.trim().len() == claim.len()
}

/// The header of a token, which is not verified yet.
pub fn parse_header(token: &str) -> Result<Header> {
    let refuse = |why: &str| Error::Unauthenticated(why.to_owned());
    // Also checks the claims, because a person may have chosen their values.
    let mut parts = token.split('.').take(2).filter_map(|part| URL_SAFE_NO_PAD.decode(part).ok());
    if parts.any(|part| has_reserved_key(&part)) {
        return Err(refuse("the token cannot be read"));
    }
    let header = decode_header(token).map_err(|_| refuse("the token cannot be read"))?;
    if header.crit.is_some() || header.extras.inner().contains_key("crit") {
        return Err(refuse("the token requires extensions that the server does not support (`crit`)"));
    }
    Ok(header)
}

/// Verifies that one of the keys signed the token, and returns its claims without validating them.
pub fn verify_signature(token: &str, header: &Header, keys: &[DecodingKey]) -> Result<Map<String, Value>> {
    let mut validation = Validation::new(header.alg);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let mut why = ErrorKind::InvalidSignature;
    for key in keys {
        match decode::<UniqueClaims>(token, key, &validation).map_err(jsonwebtoken::errors::Error::into_kind) {
            Ok(token) => return Ok(token.claims.0),
            Err(error) => why = error,
        }
        if !matches!(why, ErrorKind::InvalidSignature) {
            break;
        }
    }
    Err(invalid_token(&why))
}

/// Error for a token that cannot be decoded. Claims are parsed only after the signature was verified.
fn invalid_token(why: &ErrorKind) -> Error {
    match why {
        ErrorKind::Json(error) => invalid_claims(error),
        _ => Error::Unauthenticated("the token's signature is wrong".into()),
    }
}

/// Error for claims that are missing or malformed.
pub fn invalid_claims(error: &serde_json::Error) -> Error {
    let told = error.to_string();
    // Cut off the position: the payload is not visible in an encoded token.
    let what = told.rsplit_once(" at line ").map_or(&*told, |(what, _)| what);
    Error::Unauthenticated(format!("a claim is missing or malformed: {what}"))
}

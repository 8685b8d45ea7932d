//! What stands in a token, once it is known who has signed it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Header, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims::Unique;
use crate::error::{Error, Result};
use crate::json::is_reserved;

/// For whom a token is meant.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    /// Whether somebody is among them.
    pub fn has(&self, whom: &str) -> bool {
        match self {
            Self::One(of) => of == whom,
            Self::Many(all) => all.iter().any(|of| of == whom),
        }
    }
}

/// What names in claims must be, to be read on from "the claim …".
pub const NAME: &str = "must have 1 to 128 characters, no control characters and no white space at its ends";

/// Whether a claim can name a tenant or a user.
pub fn is_name(claim: &str) -> bool {
    (1..=128).contains(&claim.chars().count())
        && !claim.chars().any(char::is_control)
        && claim.trim().len() == claim.len()
}

/// The head of a token, which nobody has vouched for.
pub fn header(token: &str) -> Result<Header> {
    let refuse = |why: &str| Error::Unauthenticated(why.to_owned());
    // Of claims, too: a person may have chosen them.
    let mut parts = token.split('.').take(2).filter_map(|part| URL_SAFE_NO_PAD.decode(part).ok());
    if parts.any(|part| is_reserved(&part)) {
        return Err(refuse("the token cannot be read"));
    }
    let header = decode_header(token).map_err(|_| refuse("the token cannot be read"))?;
    if header.crit.is_some() || header.extras.inner().contains_key("crit") {
        return Err(refuse("the token asks for extensions that are not known here"));
    }
    Ok(header)
}

/// The claims of a token that one of the keys has signed. They are only read, and not looked at.
pub fn signed(token: &str, header: &Header, keys: &[DecodingKey]) -> Result<Map<String, Value>> {
    let mut validation = Validation::new(header.alg);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let mut why = ErrorKind::InvalidSignature;
    for key in keys {
        match decode::<Unique>(token, key, &validation).map_err(jsonwebtoken::errors::Error::into_kind) {
            Ok(token) => return Ok(token.claims.0),
            Err(error) => why = error,
        }
        if !matches!(why, ErrorKind::InvalidSignature) {
            break;
        }
    }
    Err(unreadable(&why))
}

/// Why a token is refused that cannot be decoded. What it says is read only once its signature is known to be right.
fn unreadable(why: &ErrorKind) -> Error {
    match why {
        ErrorKind::Json(error) => malformed(error),
        _ => Error::Unauthenticated("the token's signature is wrong".into()),
    }
}

/// Why claims are refused that are not what they have to be.
pub fn malformed(error: &serde_json::Error) -> Error {
    let told = error.to_string();
    // Where in the payload means nothing to whoever sees only the token.
    let what = told.rsplit_once(" at line ").map_or(&*told, |(what, _)| what);
    Error::Unauthenticated(format!("a claim is missing or malformed: {what}"))
}

//! Who is calling: tokens (JWT, RFC 7519), checked as RFC 8725 asks.
//!
//! A token signed with the shared secret must say HS256. A token signed with a key of the JWKS must say the one
//! algorithm that we hold for that key, so that no public key is ever taken for a secret. Headers that name keys
//! (`jku`, `x5u`, `jwk`) are not looked at.

mod claims;
mod jwks;
mod role;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::AuthConfig;
use crate::error::{Error, Result};
use claims::Unique;
use jwks::Jwks;
pub use role::Role;

/// The most bytes of a token.
const TOKEN_BYTES: usize = 8 * 1024;

/// How far ahead the clock of whoever signs a token may be, in seconds, when it says `nbf`.
const NOT_BEFORE_LEEWAY: i64 = 5;

/// What a token says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    pub tenant: String,
    /// The partner's id of the user, or the name of the service or operator.
    pub sub: String,
    #[serde(default, deserialize_with = "claims::role")]
    pub role: Role,
    /// Seconds since 1970.
    pub exp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// The claims that need a look before they are believed.
#[derive(Deserialize)]
struct Conditions {
    #[serde(default)]
    nbf: Option<i64>,
    #[serde(default)]
    iss: Option<String>,
    #[serde(default)]
    aud: Option<Audience>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Tells good tokens from bad ones.
#[derive(Debug)]
pub struct Verifier {
    secret: Option<DecodingKey>,
    jwks: Option<Jwks>,
    issuer: Option<String>,
    audience: Option<String>,
}

impl Verifier {
    /// Fails where a JWKS file cannot be used; one behind a URL that cannot be reached yet is only warned of.
    pub async fn new(config: &AuthConfig) -> Result<Self> {
        let jwks = match &config.jwks {
            Some(source) => Some(Jwks::open(source).await?),
            None => None,
        };
        Ok(Self {
            secret: config.secret.as_ref().map(|secret| DecodingKey::from_secret(secret.as_bytes())),
            jwks,
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
        })
    }

    /// What a token says, if it may be believed at `now`; `UNAUTHENTICATED` otherwise.
    pub async fn verify(&self, token: &str, now: DateTime<Utc>) -> Result<Claims> {
        let refuse = |why: &str| Error::Unauthenticated(why.to_owned());
        if token.is_empty() || token.len() > TOKEN_BYTES {
            return Err(refuse("the token is empty or longer than 8 KiB"));
        }
        let header = decode_header(token).map_err(|_| refuse("the token cannot be read"))?;
        if header.crit.is_some() || header.extras.inner().contains_key("crit") {
            return Err(refuse("the token asks for extensions that are not known here"));
        }
        let key = self.key(&header, now).await?;
        let mut validation = Validation::new(header.alg);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let Unique(claims) = decode(token, &key, &validation).map_err(|error| unreadable(error.kind()))?.claims;
        self.check(Value::Object(claims), now.timestamp())
    }

    /// The key that a token must have been signed with, by the algorithm that it names.
    async fn key(&self, header: &Header, now: DateTime<Utc>) -> Result<DecodingKey> {
        let unknown = || Error::Unauthenticated("the token was signed with a key that is not known here".into());
        match (header.alg, &self.secret, &self.jwks) {
            (Algorithm::HS256, Some(secret), _) => Ok(secret.clone()),
            (Algorithm::HS256, None, _) | (_, _, None) => Err(unknown()),
            (algorithm, _, Some(jwks)) => jwks.key(header.kid.as_deref(), algorithm, now).await.ok_or_else(unknown),
        }
    }

    fn check(&self, claims: Value, now: i64) -> Result<Claims> {
        let refuse = |why: String| Error::Unauthenticated(why);
        let conditions = Conditions::deserialize(&claims).map_err(|error| malformed(&error))?;
        let claims = Claims::deserialize(claims).map_err(|error| malformed(&error))?;
        if claims.exp <= now {
            return Err(refuse("the token has expired".into()));
        }
        if conditions.nbf.is_some_and(|nbf| nbf > now.saturating_add(NOT_BEFORE_LEEWAY)) {
            return Err(refuse("the token is not valid yet".into()));
        }
        if self.issuer.is_some() && self.issuer != conditions.iss {
            return Err(refuse("the token was issued by somebody else".into()));
        }
        if let Some(audience) = &self.audience {
            let is_meant = match &conditions.aud {
                Some(Audience::One(of)) => of == audience,
                Some(Audience::Many(of)) => of.contains(audience),
                None => false,
            };
            if !is_meant {
                return Err(refuse("the token is meant for somebody else".into()));
            }
        }
        for (name, claim) in [("tenant", &claims.tenant), ("sub", &claims.sub)] {
            let is_usable = (1..=128).contains(&claim.chars().count())
                && !claim.chars().any(char::is_control)
                && claim.trim().len() == claim.len();
            if !is_usable {
                let rule = "must have 1 to 128 characters, no control characters and no white space at its ends";
                return Err(refuse(format!("the claim {name} {rule}")));
            }
        }
        Ok(claims)
    }
}

/// Why a token is refused that cannot be decoded. What it says is read only once its signature is known to be right.
fn unreadable(why: &ErrorKind) -> Error {
    match why {
        ErrorKind::Json(error) => malformed(error),
        _ => Error::Unauthenticated("the token's signature is wrong".into()),
    }
}

fn malformed(error: &serde_json::Error) -> Error {
    Error::Unauthenticated(format!("a claim is missing or malformed: {error}"))
}

/// A token signed by HS256 with the shared secret.
pub fn sign(secret: &str, claims: &Claims) -> Result<String> {
    let key = EncodingKey::from_secret(secret.as_bytes());
    encode(&Header::new(Algorithm::HS256), claims, &key).map_err(Error::internal)
}

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

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{AuthConfig, JwksSource};
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
    /// The secret, and the one that it replaces.
    secrets: Vec<DecodingKey>,
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
        let secrets = [&config.secret, &config.previous_secret].into_iter().flatten();
        Ok(Self {
            secrets: secrets.map(|secret| DecodingKey::from_secret(secret.as_bytes())).collect(),
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
        let keys = self.keys(&header, now).await?;
        let mut validation = Validation::new(header.alg);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let mut why = ErrorKind::InvalidSignature;
        for key in &*keys {
            match decode::<Unique>(token, key, &validation).map_err(jsonwebtoken::errors::Error::into_kind) {
                Ok(token) => return self.check(Value::Object(token.claims.0), now.timestamp()),
                Err(error) => why = error,
            }
            if !matches!(why, ErrorKind::InvalidSignature) {
                break;
            }
        }
        Err(unreadable(&why))
    }

    /// The keys with one of which a token must have been signed, by the algorithm that it names.
    async fn keys(&self, header: &Header, now: DateTime<Utc>) -> Result<Cow<'_, [DecodingKey]>> {
        let unknown = || Error::Unauthenticated("the token was signed with a key that is not known here".into());
        match (header.alg, &*self.secrets, &self.jwks) {
            (Algorithm::HS256, secrets @ [_, ..], _) => Ok(secrets.into()),
            (Algorithm::HS256, [], _) | (_, _, None) => Err(unknown()),
            (algorithm, _, Some(jwks)) => {
                let key = jwks.key(header.kid.as_deref(), algorithm, now).await.ok_or_else(unknown)?;
                Ok(vec![key].into())
            }
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
    let told = error.to_string();
    // Where in the payload means nothing to whoever sees only the token.
    let what = told.rsplit_once(" at line ").map_or(&*told, |(what, _)| what);
    Error::Unauthenticated(format!("a claim is missing or malformed: {what}"))
}

/// How many keys a JWKS has that tokens may be signed with, asked for now; fails where there is none.
pub async fn count_keys(source: &JwksSource) -> Result<usize> {
    Jwks::count(source).await
}

/// A token as a server with these settings believes it: signed by their secret, issued by whom and meant for whom they ask for.
///
/// Fails with `Config` where there is no secret.
pub fn issue(config: &AuthConfig, claims: &Claims) -> Result<String> {
    #[derive(Serialize)]
    struct Issued<'a> {
        #[serde(flatten)]
        claims: &'a Claims,
        #[serde(skip_serializing_if = "Option::is_none")]
        iss: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        aud: Option<&'a str>,
    }
    config.check()?;
    let none = || Error::Config("set TIDINGS_SECRET, of at least 32 bytes, to sign tokens".into());
    let secret = config.secret.as_deref().ok_or_else(none)?;
    signed(secret, &Issued { claims, iss: config.issuer.as_deref(), aud: config.audience.as_deref() })
}

/// A token signed by HS256 with a secret, with these claims and no others.
pub fn sign(secret: &str, claims: &Claims) -> Result<String> {
    signed(secret, claims)
}

fn signed(secret: &str, claims: &impl Serialize) -> Result<String> {
    let key = EncodingKey::from_secret(secret.as_bytes());
    encode(&Header::new(Algorithm::HS256), claims, &key).map_err(Error::internal)
}

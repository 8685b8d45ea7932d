//! Authenticates callers by tokens (JWT, RFC 7519), validated as RFC 8725 requires.
//!
//! A token signed with the shared secret must name HS256. A token signed with a key of the JWKS must name the one
//! algorithm stored for that key, so that a public key is never used as a secret. Headers that name keys (`jku`, `x5u`,
//! `jwk`) are ignored.
//!
//! Knows `base`, `model` and `outside` (for sealed cookies), and no database.

mod claims;
mod fetch;
mod jwks;
mod oidc;
mod role;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::config::{AuthConfig, JwksSource};
use base::error::{Error, Result};
use jwks::JwksCache;
pub use oidc::{
    ATTEMPT_SECONDS, CallbackQuery, ClaimProblem, ClaimRefusal, SignIn, SignInRefusal, SignInSession, VerifiedCallback,
};
pub use role::CallerRole;
use token::TokenAudience;

/// Maximum bytes of a token.
const TOKEN_BYTES: usize = 8 * 1024;

/// How many seconds ahead the issuer's clock may be; applies to `nbf`.
const NOT_BEFORE_LEEWAY: i64 = 5;

/// The claims of a valid token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenClaims {
    pub tenant: String,
    /// The backend's id of the user, or the name of the service or operator.
    pub sub: String,
    #[serde(default, deserialize_with = "claims::role")]
    pub role: CallerRole,
    /// Seconds since 1970.
    #[serde(deserialize_with = "claims::exp")]
    pub exp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// The claims that are checked before a token is accepted.
#[derive(Deserialize)]
struct TokenConditions {
    #[serde(default, deserialize_with = "claims::nbf")]
    nbf: Option<i64>,
    #[serde(default)]
    iss: Option<String>,
    #[serde(default)]
    aud: Option<TokenAudience>,
}

/// Verifies tokens.
#[derive(Debug)]
pub struct TokenVerifier {
    /// The current secret, then the previous one.
    secrets: Vec<DecodingKey>,
    jwks: Option<JwksCache>,
    issuer: Option<String>,
    audience: Option<String>,
}

impl TokenVerifier {
    /// Fails if a JWKS file cannot be used. An unreachable JWKS URL is only logged.
    pub async fn new(config: &AuthConfig) -> Result<Self> {
        let jwks = match &config.jwks {
            Some(source) => Some(JwksCache::open(source).await?),
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

    /// The claims of a token that is valid at `now`; `UNAUTHENTICATED` otherwise.
    pub async fn verify(&self, token: &str, now: DateTime<Utc>) -> Result<TokenClaims> {
        let refuse = |why: &str| Error::Unauthenticated(why.to_owned());
        if token.is_empty() || token.len() > TOKEN_BYTES {
            return Err(refuse("the token is empty or longer than 8 KiB"));
        }
        let header = token::parse_header(token)?;
        let keys = self.signing_keys(&header, now).await?;
        self.check_claims(Value::Object(token::verify_signature(token, &header, &keys)?), now.timestamp())
    }

    /// The keys that may have signed a token with this header.
    async fn signing_keys(&self, header: &Header, now: DateTime<Utc>) -> Result<Cow<'_, [DecodingKey]>> {
        let unknown = || Error::Unauthenticated("the token is signed with an unknown key".into());
        match (header.alg, &*self.secrets, &self.jwks) {
            (Algorithm::HS256, secrets @ [_, ..], _) => Ok(secrets.into()),
            (Algorithm::HS256, [], _) | (_, _, None) => Err(unknown()),
            (algorithm, _, Some(jwks)) => {
                let key = jwks.find_or_refresh(header.kid.as_deref(), algorithm, now).await.ok_or_else(unknown)?;
                Ok(vec![key].into())
            }
        }
    }

    fn check_claims(&self, claims: Value, now: i64) -> Result<TokenClaims> {
        let refuse = |why: String| Error::Unauthenticated(why);
        let conditions = TokenConditions::deserialize(&claims).map_err(|error| token::invalid_claims(&error))?;
        let claims = TokenClaims::deserialize(claims).map_err(|error| token::invalid_claims(&error))?;
        if claims.exp <= now {
            return Err(refuse("the token has expired".into()));
        }
        if conditions.nbf.is_some_and(|nbf| nbf > now.saturating_add(NOT_BEFORE_LEEWAY)) {
            return Err(refuse("the token is not valid yet".into()));
        }
        if self.issuer.is_some() && self.issuer != conditions.iss {
            return Err(refuse("the token has the wrong issuer (`iss`)".into()));
        }
        if let Some(audience) = &self.audience
            && !conditions.aud.is_some_and(|aud| aud.contains(audience))
        {
            return Err(refuse("the token has the wrong audience (`aud`)".into()));
        }
        for (name, claim) in [("tenant", &claims.tenant), ("sub", &claims.sub)] {
            if !token::is_valid_name(claim) {
                return Err(refuse(format!("the claim {name} {}", token::NAME)));
            }
        }
        Ok(claims)
    }
}

/// Counts the usable keys of a JWKS, which is fetched now. Fails if there is none.
pub async fn count_keys(source: &JwksSource) -> Result<usize> {
    JwksCache::count_usable(source).await
}

/// Signs a token with the configured secret, issuer and audience, so that a server with these settings accepts it.
///
/// Fails with `Config` if no secret is set.
pub fn issue_token(config: &AuthConfig, claims: &TokenClaims) -> Result<String> {
    #[derive(Serialize)]
    struct IssuedClaims<'a> {
        #[serde(flatten)]
        claims: &'a TokenClaims,
        #[serde(skip_serializing_if = "Option::is_none")]
        iss: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        aud: Option<&'a str>,
    }
    config.check()?;
    let none = || Error::Config("set TIDINGS_SECRET (at least 32 bytes) to sign tokens".into());
    let secret = config.secret.as_deref().ok_or_else(none)?;
    encode_token(secret, &IssuedClaims { claims, iss: config.issuer.as_deref(), aud: config.audience.as_deref() })
}

/// Signs exactly these claims with a secret, by HS256.
pub fn sign_claims(secret: &str, claims: &TokenClaims) -> Result<String> {
    encode_token(secret, claims)
}

fn encode_token(secret: &str, claims: &impl Serialize) -> Result<String> {
    let key = EncodingKey::from_secret(secret.as_bytes());
    encode(&Header::new(Algorithm::HS256), claims, &key).map_err(Error::internal)
}

//! Requests to the OpenID Connect provider.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::RwLock;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::claims_mapping::{EMAIL, VERIFIED};
use super::refusal::SignInRefusal;
use crate::claims;
use crate::fetch::{error_chain, fetch_text, new_client, read_text};
use crate::jwks::JwksCache;
use crate::token::{self, TokenAudience};
use base::config::{JwksSource, SignInConfig, is_confidential};
use base::error::Result;
use base::json::has_reserved_key;

/// How long the provider's metadata is cached.
const KNOWN_FOR: TimeDelta = TimeDelta::hours(1);
/// Minimum time between two failed requests for the metadata. Otherwise any caller could make the server ask without
/// end.
const ASKED_EVERY: TimeDelta = TimeDelta::seconds(5);
/// Time limit of a code exchange; the provider may itself ask other servers.
const REDEEM_WITHIN: Duration = Duration::from_secs(10);
/// How many seconds ahead the provider's clock may be.
const LEEWAY: i64 = 5;
/// Characters that are percent-encoded in a form.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An OpenID Connect provider.
pub struct OidcProvider {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    client: Client,
    known: RwLock<Option<Arc<CachedMetadata>>>,
    /// Time and reason of the last failed metadata request. The lock is held during a request.
    asked: Mutex<Option<(DateTime<Utc>, String)>>,
}

/// The cached metadata and keys.
struct CachedMetadata {
    at: DateTime<Utc>,
    metadata: ProviderMetadata,
    keys: Arc<JwksCache>,
}

/// The provider's metadata (OpenID Connect Discovery 1.0, section 3; RFC 8414, RFC 9207).
#[derive(Clone, Debug, Deserialize)]
struct ProviderMetadata {
    issuer: String,
    authorization_endpoint: EndpointUrl,
    token_endpoint: EndpointUrl,
    jwks_uri: EndpointUrl,
    userinfo_endpoint: Option<EndpointUrl>,
    end_session_endpoint: Option<EndpointUrl>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// An endpoint URL. It must be https or on this machine, so that traffic cannot be read on the way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct EndpointUrl(Url);

impl TryFrom<String> for EndpointUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let url = Url::parse(&text).ok().filter(is_confidential);
        url.map(Self).ok_or_else(|| format!("{text:?} must be an https URL"))
    }
}

impl EndpointUrl {
    /// The URL with these query parameters added.
    fn with_query(&self, fields: &[(&str, &str)]) -> String {
        let mut url = self.0.clone();
        url.query_pairs_mut().extend_pairs(fields);
        url.into()
    }
}

/// The response to a code exchange.
#[derive(Deserialize)]
pub struct TokenResponse {
    pub id_token: String,
    access_token: Option<String>,
}

/// The error response (RFC 6749, section 5.2).
#[derive(Deserialize)]
struct TokenErrorResponse {
    error: String,
    error_description: Option<String>,
}

/// The claims of an ID token that are validated.
#[derive(Deserialize)]
struct IdTokenConditions {
    iss: String,
    aud: TokenAudience,
    azp: Option<String>,
    #[serde(deserialize_with = "claims::exp")]
    exp: i64,
    #[serde(default, deserialize_with = "claims::nbf")]
    nbf: Option<i64>,
    nonce: Option<String>,
    #[serde(rename = "sub")]
    _sub: String,
}

impl OidcProvider {
    pub fn new(config: &SignInConfig) -> Result<Self> {
        Ok(Self {
            issuer: config.issuer.clone(),
            client_id: config.client_id.clone(),
            client_secret: config.client_secret.clone(),
            client: new_client()?,
            known: RwLock::default(),
            asked: Mutex::default(),
        })
    }

    /// Describes the provider; the error says what is wrong with it.
    pub async fn describe(&self) -> Result<String, String> {
        let metadata = self.fetch_metadata().await?;
        let methods = metadata.code_challenge_methods_supported;
        if methods.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
            return Err("the provider does not support PKCE with S256".into());
        }
        let keys = JwksCache::count_usable_at(&self.client, metadata.jwks_uri.0.as_str()).await;
        let keys = keys.map_err(|why| format!("{}: {why}", metadata.jwks_uri.0))?;
        Ok(format!("{} answers, with {keys} keys", self.issuer))
    }

    /// The URL of the authorization endpoint with these parameters.
    pub async fn authorization_url(
        &self,
        fields: &[(&str, &str)],
        now: DateTime<Utc>,
    ) -> Result<String, SignInRefusal> {
        Ok(self.current_metadata(now).await?.metadata.authorization_endpoint.with_query(fields))
    }

    /// The URL of the logout endpoint with these parameters; `None` if there is no such endpoint.
    pub async fn logout_url(&self, fields: &[(&str, &str)], now: DateTime<Utc>) -> Option<String> {
        let known = self.current_metadata(now).await.ok()?;
        Some(known.metadata.end_session_endpoint.as_ref()?.with_query(fields))
    }

    /// Fails if the redirect came from another provider than the one the user was sent to (RFC 9207).
    pub async fn check_issuer(&self, iss: Option<&str>, now: DateTime<Utc>) -> Result<(), SignInRefusal> {
        let known = self.current_metadata(now).await?;
        match iss {
            Some(iss) if iss == self.issuer => Ok(()),
            None if !known.metadata.authorization_response_iss_parameter_supported => Ok(()),
            _ => Err(SignInRefusal::Unsound("the redirect came from another provider (`iss`)".into())),
        }
    }

    /// Exchanges a code for tokens.
    pub async fn exchange_code(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
        now: DateTime<Utc>,
    ) -> Result<TokenResponse, SignInRefusal> {
        let known = self.current_metadata(now).await?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        let mut request = self.client.post(known.metadata.token_endpoint.0.clone()).timeout(REDEEM_WITHIN);
        match &self.client_secret {
            Some(secret) if known.metadata.has_basic_auth() => {
                request = request.basic_auth(percent_encode(&self.client_id), Some(percent_encode(secret)));
            }
            Some(secret) => fields.extend([("client_id", &*self.client_id), ("client_secret", secret)]),
            None => fields.push(("client_id", &self.client_id)),
        }
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(encode_form(&fields));
        let (status, text) = send_request(request).await?;
        if status.is_success() {
            return serde_json::from_str(&text)
                .map_err(|_| SignInRefusal::Unsound("its token endpoint returned no ID token".into()));
        }
        Err(match serde_json::from_str::<TokenErrorResponse>(&text) {
            // The code has expired or was used before.
            Ok(problem) if problem.error == "invalid_grant" => {
                SignInRefusal::Declined { code: problem.error, words: problem.error_description }
            }
            Ok(problem) => {
                SignInRefusal::Unsound(format!("its token endpoint answered {status}: {:.100}", problem.error))
            }
            Err(_) if status.is_server_error() => SignInRefusal::Away(format!("its token endpoint answered {status}")),
            Err(_) => SignInRefusal::Unsound(format!("its token endpoint answered {status}")),
        })
    }

    /// The validated claims of an ID token issued for this nonce (OpenID Connect Core 1.0, section 3.1.3.7).
    pub async fn verify_id_token(
        &self,
        token: &str,
        nonce: &str,
        now: DateTime<Utc>,
    ) -> Result<Map<String, Value>, SignInRefusal> {
        let unsound = |why: &str| SignInRefusal::Unsound(format!("its ID token is invalid: {why}"));
        let keys = self.current_metadata(now).await?.keys.clone();
        let header = token::parse_header(token).map_err(|error| unsound(&error.log_message()))?;
        let key = keys.find_or_refresh(header.kid.as_deref(), header.alg, now).await;
        let key =
            key.ok_or_else(|| unsound("the provider's JWKS has no such key, or the key has another algorithm"))?;
        let claims = token::verify_signature(token, &header, &[key]).map_err(|error| unsound(&error.log_message()))?;
        let conditions = IdTokenConditions::deserialize(Value::Object(claims.clone()));
        let conditions = conditions.map_err(|error| unsound(&token::invalid_claims(&error).log_message()))?;
        self.check_conditions(&conditions, nonce, now.timestamp()).map_err(unsound)?;
        Ok(claims)
    }

    fn check_conditions(&self, of: &IdTokenConditions, nonce: &str, now: i64) -> Result<(), &'static str> {
        let is_shared = matches!(&of.aud, TokenAudience::Many(all) if all.len() > 1);
        let is_for_us = match &of.azp {
            Some(azp) => *azp == self.client_id,
            None => !is_shared,
        };
        if of.iss != self.issuer {
            return Err("it has the wrong issuer (`iss`)");
        }
        if !of.aud.contains(&self.client_id) || !is_for_us {
            return Err("it has the wrong audience (`aud` or `azp`)");
        }
        if of.exp <= now {
            return Err("it has expired");
        }
        if of.nbf.is_some_and(|nbf| nbf > now.saturating_add(LEEWAY)) {
            return Err("it is not valid yet");
        }
        if of.nonce.as_deref() != Some(nonce) {
            return Err("it has the nonce of another sign-in");
        }
        Ok(())
    }

    /// Whether the provider has a userinfo endpoint.
    pub async fn has_userinfo(&self, now: DateTime<Utc>) -> Result<bool, SignInRefusal> {
        Ok(self.current_metadata(now).await?.metadata.userinfo_endpoint.is_some())
    }

    /// Adds the claims of the userinfo endpoint to those of the ID token, which win (section 5.3).
    pub async fn add_userinfo(
        &self,
        tokens: &TokenResponse,
        mut vouched: Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<Map<String, Value>, SignInRefusal> {
        let known = self.current_metadata(now).await?;
        let (Some(url), Some(token)) = (&known.metadata.userinfo_endpoint, &tokens.access_token) else {
            return Ok(vouched);
        };
        let (status, text) = send_request(self.client.get(url.0.clone()).bearer_auth(token)).await?;
        if !status.is_success() {
            return Err(SignInRefusal::Unsound(format!("its userinfo endpoint answered {status}")));
        }
        let more = Some(&text).filter(|text| !has_reserved_key(text.as_bytes()));
        let more = more.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        let mut more =
            more.ok_or_else(|| SignInRefusal::Unsound("its userinfo response is not a JSON object".into()))?;
        if more.get("sub") != vouched.get("sub") {
            return Err(SignInRefusal::Unsound(
                "its userinfo response is about another user than its ID token (`sub`)".into(),
            ));
        }
        // `email_verified` applies only to the address in the same set of claims.
        if vouched.get(EMAIL).is_none_or(Value::is_null) {
            vouched.remove(VERIFIED);
        } else if vouched.get(EMAIL) != more.get(EMAIL) {
            more.remove(VERIFIED);
        }
        for (name, value) in more {
            let known = vouched.entry(name).or_insert(Value::Null);
            if known.is_null() {
                *known = value;
            }
        }
        Ok(vouched)
    }

    /// The metadata, fetched again once it is too old. While the provider cannot be reached, the old metadata stays in
    /// use.
    async fn current_metadata(&self, now: DateTime<Utc>) -> Result<Arc<CachedMetadata>, SignInRefusal> {
        let fresh = |known: &Option<Arc<CachedMetadata>>| known.clone().filter(|known| now - known.at < KNOWN_FOR);
        if let Some(known) = fresh(&self.known.read()) {
            return Ok(known);
        }
        let mut asked = self.asked.lock().await;
        if let Some(known) = fresh(&self.known.read()) {
            return Ok(known);
        }
        let is_asked = asked.as_ref().is_some_and(|(at, _)| now - *at < ASKED_EVERY);
        if !is_asked {
            *asked = self.refresh_metadata(now).await.err().map(|why| (now, why));
        }
        let why = asked.as_ref().map_or("its metadata is unknown", |(_, why)| why);
        self.known.read().clone().ok_or_else(|| SignInRefusal::Away(why.to_owned()))
    }

    /// Fetches the metadata.
    async fn refresh_metadata(&self, now: DateTime<Utc>) -> Result<(), String> {
        let metadata = self
            .fetch_metadata()
            .await
            .inspect_err(|why| tracing::warn!(why, "could not fetch the provider's metadata"))?;
        let before = self.known.read().clone().filter(|known| known.metadata.jwks_uri == metadata.jwks_uri);
        let keys = if let Some(known) = before {
            known.keys.clone()
        } else {
            let opened = JwksCache::open(&JwksSource::Url(metadata.jwks_uri.0.clone().into())).await;
            Arc::new(opened.map_err(|error| error.log_message())?)
        };
        *self.known.write() = Some(Arc::new(CachedMetadata { at: now, metadata, keys }));
        Ok(())
    }

    async fn fetch_metadata(&self) -> Result<ProviderMetadata, String> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let text = fetch_text(&self.client, &url).await.map_err(|why| format!("{url}: {why}"))?;
        let metadata: ProviderMetadata = serde_json::from_str(&text).map_err(|error| format!("{url}: {error}"))?;
        if metadata.issuer != self.issuer {
            return Err(format!(
                "the provider's issuer is {:?}, but TIDINGS_OIDC_ISSUER is {:?}: they must be exactly the same",
                metadata.issuer, self.issuer
            ));
        }
        Ok(metadata)
    }
}

impl ProviderMetadata {
    /// Whether clients may send their secret by basic authentication, which is the default without a list.
    fn has_basic_auth(&self) -> bool {
        let listed = self.token_endpoint_auth_methods_supported.as_ref();
        listed.is_none_or(|all| all.iter().any(|method| method == "client_secret_basic"))
    }
}

/// Sends a request and reads its response, at most 256 KiB.
async fn send_request(request: RequestBuilder) -> Result<(StatusCode, String), SignInRefusal> {
    let answer = request.header("accept", "application/json").send().await;
    let answer = answer.map_err(|error| SignInRefusal::Away(error_chain(error)))?;
    Ok((answer.status(), read_text(answer).await.map_err(SignInRefusal::Away)?))
}

/// Encodes fields as a form.
fn encode_form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Percent-encodes a text for a form and for basic authentication (RFC 6749, section 2.3.1).
fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

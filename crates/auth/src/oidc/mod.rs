//! Sign-in by OpenID Connect (Core 1.0), with the authorization code flow and PKCE (RFC 7636).
//!
//! State between two requests is kept in cookies, encrypted with a key derived from `TIDINGS_SECRET`, so any node can
//! handle the next request. The database stores only sessions that were ended early (`domain::ended_session`).

mod claims_mapping;
mod provider;
mod refusal;
mod sealed_cookie;

use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::TokenClaims;
use base::config::{PublicUrl, SignInConfig};
use base::error::{Error, Result};
use base::fair_semaphore::FairSemaphore;
use claims_mapping::IdentifiedPerson;
use model::network::CallerNetwork;
use provider::OidcProvider;
pub use refusal::{ClaimProblem, ClaimRefusal, SignInRefusal};
use sealed_cookie::{CookieCipher, CookieKind};

/// How long a user may take at the provider, in seconds.
pub const ATTEMPT_SECONDS: i64 = 10 * 60;

/// Maximum bytes of an ID token kept for the provider's logout; a cookie holds at most 4,096.
const HINT_BYTES: usize = 2_800;

/// Maximum concurrent sign-ins that wait for the provider.
const SIGN_INS: u32 = 64;

/// Maximum of them per network.
const SIGN_INS_OF_NETWORK: u32 = 4;

/// Maximum time a sign-in waits for a permit.
const PATIENCE: Duration = Duration::from_secs(5);

/// Signs in people that the provider identifies and the settings admit.
pub struct SignIn {
    config: SignInConfig,
    seals: CookieCipher,
    provider: OidcProvider,
    /// Permits for completing sign-ins at the provider. The limit per network keeps one network from using all permits
    /// of a slow provider.
    permits: FairSemaphore<CallerNetwork>,
}

impl Debug for SignIn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").field("issuer", &self.config.issuer).finish_non_exhaustive()
    }
}

/// The contents of a session cookie.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignInSession {
    /// Random id; used to end the session early.
    pub id: String,
    /// The user, as in a token.
    #[serde(flatten)]
    pub claims: TokenClaims,
    /// The display name.
    pub name: String,
}

/// A sign-in that has begun.
pub struct SignInStart {
    /// The provider's URL to redirect the browser to.
    pub url: String,
    /// The value of a cookie that is valid for `ATTEMPT_SECONDS`.
    pub attempt: String,
}

/// A completed sign-in.
pub struct SignInResult {
    /// The path the user wanted to open.
    pub to: String,
    /// The value of the session cookie.
    pub session: String,
    /// The value of the cookie with the ID token, for the provider's logout; `None` if the token is too long.
    pub hint: Option<String>,
    /// Lifetime of both cookies, in seconds.
    pub seconds: i64,
}

/// The query parameters of the provider's redirect.
#[derive(Debug, Default, Deserialize)]
pub struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// A redirect from the provider that matches an attempt of this server that has not expired.
pub struct VerifiedCallback {
    fields: CallbackQuery,
    attempt: SignInAttempt,
}

/// State of a sign-in while the user is at the provider.
#[derive(Serialize, Deserialize)]
struct SignInAttempt {
    state: String,
    nonce: String,
    /// The PKCE verifier; the provider has its hash.
    verifier: String,
    to: String,
    exp: i64,
}

/// An ID token, kept for the provider's logout.
#[derive(Serialize, Deserialize)]
struct LogoutHint {
    id_token: String,
}

impl SignIn {
    /// Creates it from the settings. The provider is contacted at the first sign-in.
    pub fn new(config: SignInConfig) -> Result<Self> {
        let (seals, provider) = (CookieCipher::new(&config)?, OidcProvider::new(&config)?);
        Ok(Self { config, seals, provider, permits: FairSemaphore::new(SIGN_INS, SIGN_INS_OF_NETWORK) })
    }

    /// The public URL of this server.
    pub fn public_url(&self) -> &PublicUrl {
        &self.config.public
    }

    /// Contacts the provider and describes it.
    ///
    /// Fails with `Config` if the provider cannot be reached or does not support what sign-in needs.
    pub async fn check_provider(config: SignInConfig) -> Result<String> {
        let sign_in = Self::new(config)?;
        let found = sign_in.provider.describe().await;
        let found = found.map_err(|why| Error::Config(format!("TIDINGS_OIDC_ISSUER: {why}")))?;
        Ok(format!("{found}; the redirect URI is {}", sign_in.redirect_uri()))
    }

    /// Starts a sign-in that will end at a path of this server.
    pub async fn begin(&self, to: &str, now: DateTime<Utc>) -> Result<SignInStart, SignInRefusal> {
        let [state, nonce, verifier] = [random_text()?, random_text()?, random_text()?];
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let redirect_uri = self.redirect_uri();
        let fields = [
            ("response_type", "code"),
            ("client_id", &*self.config.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", &self.config.scopes),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let url = self.provider.authorization_url(&fields, now).await?;
        let attempt =
            SignInAttempt { state, nonce, verifier, to: to.to_owned(), exp: now.timestamp() + ATTEMPT_SECONDS };
        Ok(SignInStart { url, attempt: self.encrypt_cookie(CookieKind::Attempt, &attempt)? })
    }

    /// Checks, by the cookie set at the start, that a redirect belongs to an attempt of this server. Does not contact
    /// the provider.
    pub fn verify_callback(
        &self,
        fields: CallbackQuery,
        attempt: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<VerifiedCallback, SignInRefusal> {
        let attempt = attempt.and_then(|sealed| self.seals.decrypt::<SignInAttempt>(CookieKind::Attempt, sealed));
        let attempt = attempt.filter(|attempt| {
            attempt.exp > now.timestamp() && fields.state.as_ref().is_some_and(|state| is_equal(state, &attempt.state))
        });
        Ok(VerifiedCallback { fields, attempt: attempt.ok_or(SignInRefusal::Unknown)? })
    }

    /// Completes an attempt; `network` is the browser's.
    pub async fn finish(
        &self,
        VerifiedCallback { fields: returned, attempt }: VerifiedCallback,
        network: CallerNetwork,
        now: DateTime<Utc>,
    ) -> Result<SignInResult, SignInRefusal> {
        self.provider.check_issuer(returned.iss.as_deref(), now).await?;
        if let Some(code) = returned.error {
            return Err(SignInRefusal::Declined { code, words: returned.error_description });
        }
        let code = returned.code.ok_or(SignInRefusal::Unknown)?;
        let permit = self.permits.acquire(network, PATIENCE).await;
        let _permit = permit.ok_or_else(|| SignInRefusal::Away("too many sign-ins at once".into()))?;
        let redirect_uri = self.redirect_uri();
        let tokens = self.provider.exchange_code(&code, &attempt.verifier, &redirect_uri, now).await?;
        let vouched = self.provider.verify_id_token(&tokens.id_token, &attempt.nonce, now).await?;
        let person = match IdentifiedPerson::from_claims(&self.config, &vouched) {
            // The claims of the ID token were not enough: ask the userinfo endpoint for more.
            Err(_) if self.provider.has_userinfo(now).await? => {
                let more = self.provider.add_userinfo(&tokens, vouched, now).await?;
                IdentifiedPerson::from_claims(&self.config, &more)
            }
            found => found,
        };
        self.sign_in_result(person.map_err(SignInRefusal::NotLetIn)?, attempt.to, tokens.id_token, now)
    }

    fn sign_in_result(
        &self,
        person: IdentifiedPerson,
        to: String,
        id_token: String,
        now: DateTime<Utc>,
    ) -> Result<SignInResult, SignInRefusal> {
        let IdentifiedPerson { tenant, role, sub, name } = person;
        let seconds = i64::from(self.config.session_hours) * 60 * 60;
        let claims = TokenClaims { tenant, sub, role, exp: now.timestamp() + seconds, scope: None };
        let hint =
            (id_token.len() <= HINT_BYTES).then(|| self.encrypt_cookie(CookieKind::Hint, &LogoutHint { id_token }));
        let session = self.encrypt_cookie(CookieKind::Session, &SignInSession { id: random_text()?, claims, name })?;
        Ok(SignInResult { to, session, hint: hint.transpose()?, seconds })
    }

    /// Decrypts a session cookie; `None` if it is invalid or expired. Does not check whether the user ended the
    /// session.
    pub fn decrypt_session(&self, sealed: &str, now: DateTime<Utc>) -> Option<SignInSession> {
        let session = self.seals.decrypt::<SignInSession>(CookieKind::Session, sealed)?;
        (session.claims.exp > now.timestamp()).then_some(session)
    }

    /// The provider's URL that ends its own session, too; `None` if it has none or cannot be reached.
    pub async fn logout_url(&self, hint: Option<&str>, now: DateTime<Utc>) -> Option<String> {
        let hint = hint.and_then(|sealed| self.seals.decrypt::<LogoutHint>(CookieKind::Hint, sealed));
        let back = self.config.public.page_url(&["desk"]);
        let mut fields = vec![("client_id", &*self.config.client_id), ("post_logout_redirect_uri", &back)];
        fields.extend(hint.as_ref().map(|hint| ("id_token_hint", &*hint.id_token)));
        self.provider.logout_url(&fields, now).await
    }

    /// The redirect URI at this server.
    fn redirect_uri(&self) -> String {
        self.config.public.page_url(&["desk", "session", "callback"])
    }

    fn encrypt_cookie(&self, kind: CookieKind, what: &impl Serialize) -> Result<String, SignInRefusal> {
        self.seals.encrypt(kind, what).map_err(|error| SignInRefusal::Unsound(error.log_message()))
    }
}

/// 32 random bytes, as base64.
fn random_text() -> Result<String, SignInRefusal> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| SignInRefusal::Unsound(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// Compares hashes, so that the time taken reveals nothing.
fn is_equal(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

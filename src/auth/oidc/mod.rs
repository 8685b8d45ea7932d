//! How people sign in who have no token: OpenID Connect (Core 1.0), by authorization code with PKCE (RFC 7636).
//!
//! What has to be remembered between two requests is in cookies of the browser, sealed with a key that comes from `TIDINGS_SECRET`. So any
//! node takes the next request. Stored are only the sessions that end before they are over (`domain::ended_session`).

mod person;
mod provider;
mod refusal;
mod sealed;

use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Claims;
use crate::config::{PublicUrl, SignInConfig};
use crate::error::{Error, Result};
use crate::fair_semaphore::FairSemaphore;
use crate::model::network::Network;
use person::Person;
use provider::Provider;
pub use refusal::Refusal;
use sealed::{Kind, Seals};

/// How long a user may take at the provider, in seconds.
pub const ATTEMPT_SECONDS: i64 = 10 * 60;

/// The most bytes of an ID token that is kept so that it can be shown to the provider when its session ends: a cookie has 4,096 at the most.
const HINT_BYTES: usize = 2_800;

/// The most sign-ins that the provider is asked about at the same time.
const SIGN_INS: u32 = 64;

/// The most of them from one network.
const SIGN_INS_OF_NETWORK: u32 = 4;

/// The longest that a sign-in waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lets people in for whom the provider vouches, and who may come by the settings.
pub struct SignIn {
    config: SignInConfig,
    seals: Seals,
    provider: Provider,
    /// The provider is asked with one of these: a network that signs in often does not fill up a slow provider.
    permits: FairSemaphore<Network>,
}

impl Debug for SignIn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").field("issuer", &self.config.issuer).finish_non_exhaustive()
    }
}

/// What stands in a session's cookie.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Random, by which it can be ended.
    pub id: String,
    /// Who they are, as in a token.
    #[serde(flatten)]
    pub claims: Claims,
    /// How they are called.
    pub name: String,
}

/// Somebody is on their way to the provider.
pub struct Begun {
    /// Where to send them.
    pub url: String,
    /// A cookie's content, for `ATTEMPT_SECONDS`.
    pub attempt: String,
}

/// Somebody has come back from the provider, and was let in.
pub struct Finished {
    /// Where they wanted to go.
    pub to: String,
    /// The content of the session's cookie.
    pub session: String,
    /// What to show the provider when the session ends, where there is room for it.
    pub hint: Option<String>,
    /// How long both are good for.
    pub seconds: i64,
}

/// What the provider has somebody come back with.
#[derive(Debug, Default, Deserialize)]
pub struct Returned {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// A return from the provider that belongs to an attempt which this server has begun, and which is not over.
pub struct Return {
    fields: Returned,
    attempt: Attempt,
}

/// What is remembered of somebody while they are at the provider.
#[derive(Serialize, Deserialize)]
struct Attempt {
    state: String,
    nonce: String,
    /// Of which the provider has been told the hash.
    verifier: String,
    to: String,
    exp: i64,
}

/// An ID token, kept until its session ends.
#[derive(Serialize, Deserialize)]
struct Hint {
    id_token: String,
}

impl SignIn {
    /// By the settings; the provider is asked once somebody comes.
    pub fn new(config: SignInConfig) -> Result<Self> {
        let (seals, provider) = (Seals::new(&config)?, Provider::new(&config)?);
        Ok(Self { config, seals, provider, permits: FairSemaphore::new(SIGN_INS, SIGN_INS_OF_NETWORK) })
    }

    /// Where browsers reach this server.
    pub fn public(&self) -> &PublicUrl {
        &self.config.public
    }

    /// What is right about the provider, which is asked for now.
    ///
    /// Fails with `Config` where it cannot be asked, or nobody could sign in by it.
    pub async fn examine(config: SignInConfig) -> Result<String> {
        let sign_in = Self::new(config)?;
        let found = sign_in.provider.examine().await;
        let found = found.map_err(|why| Error::Config(format!("TIDINGS_OIDC_ISSUER: {why}")))?;
        Ok(format!("{found}; people come back to {}", sign_in.redirect_uri()))
    }

    /// Begins for somebody who wants to go on to a path of ours.
    pub async fn begin(&self, to: &str, now: DateTime<Utc>) -> Result<Begun, Refusal> {
        let [state, nonce, verifier] = [random()?, random()?, random()?];
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
        let url = self.provider.authorization(&fields, now).await?;
        let attempt = Attempt { state, nonce, verifier, to: to.to_owned(), exp: now.timestamp() + ATTEMPT_SECONDS };
        Ok(Begun { url, attempt: self.close(Kind::Attempt, &attempt)? })
    }

    /// Checks that a return belongs to an attempt of this server, by the cookie that the browser was sent away with. The provider is not
    /// asked.
    pub fn returned(&self, fields: Returned, attempt: Option<&str>, now: DateTime<Utc>) -> Result<Return, Refusal> {
        let attempt = attempt.and_then(|sealed| self.seals.open::<Attempt>(Kind::Attempt, sealed));
        let attempt = attempt.filter(|attempt| {
            attempt.exp > now.timestamp() && fields.state.as_ref().is_some_and(|state| same(state, &attempt.state))
        });
        Ok(Return { fields, attempt: attempt.ok_or(Refusal::Unknown)? })
    }

    /// Ends an attempt whose browser comes back from this network.
    pub async fn finish(
        &self,
        Return { fields: returned, attempt }: Return,
        network: Network,
        now: DateTime<Utc>,
    ) -> Result<Finished, Refusal> {
        self.provider.is_its_own(returned.iss.as_deref(), now).await?;
        if let Some(code) = returned.error {
            return Err(Refusal::Declined { code, words: returned.error_description });
        }
        let code = returned.code.ok_or(Refusal::Unknown)?;
        let permit = self.permits.acquire(network, PATIENCE).await;
        let _permit = permit.map_err(|_| Refusal::Away("too many sign in at once".into()))?;
        let redirect_uri = self.redirect_uri();
        let tokens = self.provider.redeem(&code, &attempt.verifier, &redirect_uri, now).await?;
        let vouched = self.provider.vouched(&tokens.id_token, &attempt.nonce, now).await?;
        let person = match Person::of(&self.config, &vouched) {
            // It may say more where it is asked for it.
            Err(_) if self.provider.tells_more(now).await? => {
                let more = self.provider.more(&tokens, vouched, now).await?;
                Person::of(&self.config, &more)
            }
            found => found,
        };
        self.finished(person.map_err(Refusal::NotLetIn)?, attempt.to, tokens.id_token, now)
    }

    fn finished(&self, person: Person, to: String, id_token: String, now: DateTime<Utc>) -> Result<Finished, Refusal> {
        let Person { tenant, role, sub, name } = person;
        let seconds = i64::from(self.config.session_hours) * 60 * 60;
        let claims = Claims { tenant, sub, role, exp: now.timestamp() + seconds, scope: None };
        let hint = (id_token.len() <= HINT_BYTES).then(|| self.close(Kind::Hint, &Hint { id_token }));
        let session = self.close(Kind::Session, &Session { id: random()?, claims, name })?;
        Ok(Finished { to, session, hint: hint.transpose()?, seconds })
    }

    /// What the content of a session's cookie says, until the session is over. Its user may have ended it before.
    pub fn session(&self, sealed: &str, now: DateTime<Utc>) -> Option<Session> {
        let session = self.seals.open::<Session>(Kind::Session, sealed)?;
        (session.claims.exp > now.timestamp()).then_some(session)
    }

    /// Where to send somebody so that the provider's own session ends, too; nothing where it has no such place, or cannot be asked.
    pub async fn end(&self, hint: Option<&str>, now: DateTime<Utc>) -> Option<String> {
        let hint = hint.and_then(|sealed| self.seals.open::<Hint>(Kind::Hint, sealed));
        let back = self.config.public.page(&["desk"]);
        let mut fields = vec![("client_id", &*self.config.client_id), ("post_logout_redirect_uri", &back)];
        fields.extend(hint.as_ref().map(|hint| ("id_token_hint", &*hint.id_token)));
        self.provider.end(&fields, now).await
    }

    /// Where the provider sends people back to.
    fn redirect_uri(&self) -> String {
        self.config.public.page(&["desk", "session", "callback"])
    }

    fn close(&self, kind: Kind, what: &impl Serialize) -> Result<String, Refusal> {
        self.seals.close(kind, what).map_err(|error| Refusal::Unsound(error.told()))
    }
}

/// 32 bytes that nobody can guess.
fn random() -> Result<String, Refusal> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| Refusal::Unsound(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// Compares by hashes, so that the time that it takes says nothing.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

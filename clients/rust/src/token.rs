//! Authentication of the client.

use std::fmt::{Debug, Display, Formatter, Result as Formatted};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use crate::error::Error;
use crate::output::ErrorCode;

/// Validity of a token signed for one request.
const VALID: Duration = Duration::from_mins(5);

type Given = Pin<Box<dyn Future<Output = Result<String, Error>> + Send>>;

/// The source of the token for each request.
#[derive(Clone)]
pub struct Token(Arc<dyn Fn() -> Given + Send + Sync>);

impl Token {
    /// Always this token.
    pub fn fixed(token: impl Into<String>) -> Self {
        let token = token.into();
        Self(Arc::new(move || Box::pin(std::future::ready(Ok(token.clone())))))
    }

    /// Calls a function before each request. Its error becomes `Unauthenticated` and is not retried.
    pub fn from_fn<Ask, Answer, Why>(ask: Ask) -> Self
    where
        Ask: Fn() -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<String, Why>> + Send + 'static,
        Why: Display,
    {
        Self(Arc::new(move || {
            let answer = ask();
            Box::pin(async move { answer.await.map_err(|why| Error::new(ErrorCode::Unauthenticated, why.to_string())) })
        }))
    }

    /// Signs a token for each request with the server's `TIDINGS_SECRET`, which must stay on your servers, for a
    /// service `name` (1 to 128 characters) of a tenant.
    pub fn signed(secret: impl Into<String>, tenant: impl Into<String>, name: impl Into<String>) -> Self {
        let (secret, tenant, name) = (secret.into(), tenant.into(), name.into());
        Self(Arc::new(move || Box::pin(std::future::ready(Ok(sign(&secret, &tenant, &name, "service", VALID))))))
    }

    pub(crate) async fn give(&self) -> Result<String, Error> {
        (self.0)().await
    }
}

impl Debug for Token {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Formatted {
        formatter.write_str("Token(…)")
    }
}

/// Signs a token (RFC 7519, HS256) for a user or service `sub` of a tenant; `role` is `user`, `service` or `admin`.
/// Backends use it to give tokens to their users' browsers.
pub fn sign(secret: &str, tenant: &str, sub: &str, role: &str, valid: Duration) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970");
    let until = (now + valid).as_secs();
    let claims = json!({ "tenant": tenant, "sub": sub, "role": role, "exp": until });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(json!({ "alg": "HS256", "typ": "JWT" })), part(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key may have any length");
    mac.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

//! The WeChat API for template messages of official accounts.
//!
//! The caller decides when to send and when to retry. This module fits a message to its template (`field`), posts it,
//! and classifies the response (`errcode`). No error contains credentials.

mod errcode;
mod field;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::egress::{EgressClient, EgressResponse};
use base::clock::Millis;
use base::config::WeChatConfig;
use base::error::{Error, Result};
use base::text::{close_directions, first_bytes, one_line, without_secret};
pub use errcode::FailureVerdict;
pub use field::fit_value;

/// Maximum characters of a token; the documentation asks for room for 512.
const TOKEN_CHARACTERS: usize = 1024;
/// How long before its expiry a token is no longer used: from then on, WeChat issues the next one.
const EARLY: Duration = Duration::from_mins(5);
/// Minimum time a token is used, even if WeChat says it expires earlier. If it is rejected, a new one is requested.
const LEAST: Duration = Duration::from_secs(10);
/// Maximum bytes of an error message.
const TOLD_BYTES: usize = 400;

/// Sends WeChat messages.
#[derive(Debug)]
pub struct WeChatClient {
    egress: EgressClient,
    /// Without a trailing slash.
    api: String,
}

/// Credentials of an account; never shown.
pub struct WeChatCredentials<'a> {
    pub app_id: &'a str,
    pub secret: &'a str,
}

/// How to request a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRequest {
    /// The current token: all callers get the same one until it expires.
    Usual,
    /// A new token at once. WeChat allows this 20 times a day, at least 30 s apart; otherwise it returns the current
    /// token.
    Another,
}

/// An access token.
pub struct GrantedToken {
    pub token: String,
    /// How long to use it, in milliseconds.
    pub lasts: Millis,
}

/// A message to a follower of the account.
#[derive(Clone, Debug)]
pub struct WeChatMessage {
    /// The recipient's open id.
    pub to: String,
    /// The template id.
    pub template: String,
    /// Values by field name; `send` fits them to the kinds of the fields.
    pub fields: Vec<(String, String)>,
    /// The link of the message: an absolute URL.
    pub url: Option<String>,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeChatFailure {
    pub verdict: FailureVerdict,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// For the owner of the account, at most 500 bytes.
    pub told: String,
    /// How long WeChat asks the server to wait, if it says so.
    pub retry_after: Option<Duration>,
}

impl WeChatFailure {
    fn new(verdict: FailureVerdict, status: Option<u16>, told: impl Into<String>) -> Self {
        Self { verdict, status, told: told.into(), retry_after: None }
    }

    /// Removes a secret that WeChat's response may have repeated.
    fn without_secret(mut self, secret: &str) -> Self {
        self.told = without_secret(&self.told, secret);
        self
    }
}

/// The common part of all responses. `errcode` may be missing if the request succeeded.
#[derive(Deserialize)]
struct ApiResponse {
    errcode: Option<i64>,
    #[serde(default)]
    errmsg: String,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl WeChatClient {
    /// Creates it from the settings.
    ///
    /// Fails with `Config` if the API's address is not allowed.
    pub fn new(egress: EgressClient, config: &WeChatConfig) -> Result<Self> {
        let api = config.api.trim_end_matches('/').to_owned();
        let wrong = |error: Error| Error::Config(format!("TIDINGS_WECHAT_API {}", error.log_message()));
        let url = egress.check_url(&api).map_err(wrong)?;
        if url.query().is_some() {
            return Err(Error::Config("TIDINGS_WECHAT_API must not have a query".into()));
        }
        Ok(Self { egress, api })
    }

    /// Requests a token, in at most 15 s.
    pub async fn request_token(
        &self,
        account: &WeChatCredentials<'_>,
        ask: TokenRequest,
    ) -> Result<GrantedToken, WeChatFailure> {
        let body = json!({
            "grant_type": "client_credential",
            "appid": account.app_id,
            "secret": account.secret,
            "force_refresh": ask == TokenRequest::Another,
        });
        let granted = self.post("stable_token", &body).await.and_then(parse_token);
        granted.map_err(|failure| failure.without_secret(account.secret))
    }

    /// Sends a message, in at most 15 s. WeChat drops a second one with the same id within ten minutes.
    pub async fn send(&self, token: &str, id: &str, message: &WeChatMessage) -> Result<(), WeChatFailure> {
        let data =
            message.fields.iter().map(|(name, value)| (name.clone(), json!({ "value": fit_value(name, value) })));
        let mut body = json!({
            "touser": message.to,
            "template_id": message.template,
            "data": data.collect::<Map<_, _>>(),
            "client_msg_id": id,
        });
        if let Some(url) = &message.url {
            body["url"] = json!(url);
        }
        let sent = self
            .post(&format!("message/template/send?access_token={token}"), &body)
            .await
            .and_then(|said| check_accepted(&said));
        sent.map_err(|failure| failure.without_secret(token).without_secret(&message.to))
    }

    async fn post(&self, what: &str, body: &Value) -> Result<ApiResponse, WeChatFailure> {
        let headers = [("content-type", "application/json".to_owned())];
        let url = format!("{}/cgi-bin/{what}", self.api);
        let answer = self.egress.post(&url, &headers, body.to_string().into_bytes()).await;
        parse_response(&answer.map_err(|failure| WeChatFailure::new(FailureVerdict::Later, None, failure.message))?)
    }
}

fn parse_response(answer: &EgressResponse) -> Result<ApiResponse, WeChatFailure> {
    let status = Some(answer.status);
    if !answer.is_success() {
        let verdict =
            if matches!(answer.status, 429 | 502 | 504) { FailureVerdict::Throttled } else { FailureVerdict::Later };
        let failure = WeChatFailure::new(verdict, status, format!("WeChat answered with status {}", answer.status));
        return Err(WeChatFailure {
            retry_after: answer.retry_after.filter(|_| matches!(answer.status, 429 | 503)),
            ..failure
        });
    }
    let said = serde_json::from_slice::<ApiResponse>(&answer.body);
    let said = said.map_err(|_| WeChatFailure::new(FailureVerdict::Later, status, "WeChat's answer is not JSON"))?;
    let code = said.errcode.unwrap_or_default();
    match errcode::classify_code(code) {
        Some(verdict) => {
            let line = first_bytes(&close_directions(&one_line(&said.errmsg)), TOLD_BYTES);
            let told = format!("WeChat answered {code}: {line}");
            Err(WeChatFailure::new(verdict, status, told))
        }
        None => Ok(said),
    }
}

/// Any proxy may send a response; only one with a code proves that WeChat accepted the message.
fn check_accepted(said: &ApiResponse) -> Result<(), WeChatFailure> {
    let is_said = said.errcode.is_some();
    is_said
        .then_some(())
        .ok_or_else(|| WeChatFailure::new(FailureVerdict::Later, Some(200), "WeChat answered without a code"))
}

fn parse_token(said: ApiResponse) -> Result<GrantedToken, WeChatFailure> {
    let is_token = |text: &String| {
        let is_part = |of: char| of.is_ascii_alphanumeric() || of == '-' || of == '_';
        (1..=TOKEN_CHARACTERS).contains(&text.len()) && text.chars().all(is_part)
    };
    let token = said.access_token.filter(is_token).zip(said.expires_in);
    let (token, seconds) =
        token.ok_or_else(|| WeChatFailure::new(FailureVerdict::Later, Some(200), "WeChat answered without a token"))?;
    let all = Duration::from_secs(seconds.min(86_400));
    let lasts = all.saturating_sub(EARLY).max(all / 2).max(LEAST);
    Ok(GrantedToken { token, lasts: Millis::try_from(lasts.as_millis()).unwrap_or_default() })
}

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

use crate::clock::Millis;
use crate::config::WeChatConfig;
use crate::egress::{Answer, Egress};
use crate::error::{Error, Result};
use crate::text::{closed, first_bytes, one_line, without_secret};
pub use errcode::Verdict;
pub use field::fitted;

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
pub struct WeChat {
    egress: Egress,
    /// Without a trailing slash.
    api: String,
}

/// Credentials of an account; never shown.
pub struct Account<'a> {
    pub app_id: &'a str,
    pub secret: &'a str,
}

/// How to request a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The current token: all callers get the same one until it expires.
    Usual,
    /// A new token at once. WeChat allows this 20 times a day, at least 30 s apart; otherwise it returns the current
    /// token.
    Another,
}

/// An access token.
pub struct Granted {
    pub token: String,
    /// How long to use it, in milliseconds.
    pub lasts: Millis,
}

/// A message to a follower of the account.
#[derive(Clone, Debug)]
pub struct Message {
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
pub struct Failure {
    pub verdict: Verdict,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// For the owner of the account, at most 500 bytes.
    pub told: String,
    /// How long WeChat asks the server to wait, if it says so.
    pub retry_after: Option<Duration>,
}

impl Failure {
    fn of(verdict: Verdict, status: Option<u16>, told: impl Into<String>) -> Self {
        Self { verdict, status, told: told.into(), retry_after: None }
    }

    /// Removes a secret that WeChat's response may have repeated.
    fn without(mut self, secret: &str) -> Self {
        self.told = without_secret(&self.told, secret);
        self
    }
}

/// The common part of all responses. `errcode` may be missing if the request succeeded.
#[derive(Deserialize)]
struct Said {
    errcode: Option<i64>,
    #[serde(default)]
    errmsg: String,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl WeChat {
    /// Creates it from the settings.
    ///
    /// Fails with `Config` if the API's address is not allowed.
    pub fn new(egress: Egress, config: &WeChatConfig) -> Result<Self> {
        let api = config.api.trim_end_matches('/').to_owned();
        let wrong = |error: Error| Error::Config(format!("TIDINGS_WECHAT_API {}", error.told()));
        let url = egress.check(&api).map_err(wrong)?;
        if url.query().is_some() {
            return Err(Error::Config("TIDINGS_WECHAT_API must not have a query".into()));
        }
        Ok(Self { egress, api })
    }

    /// Requests a token, in at most 15 s.
    pub async fn token(&self, account: &Account<'_>, ask: Ask) -> Result<Granted, Failure> {
        let body = json!({
            "grant_type": "client_credential",
            "appid": account.app_id,
            "secret": account.secret,
            "force_refresh": ask == Ask::Another,
        });
        let granted = self.post("stable_token", &body).await.and_then(granted);
        granted.map_err(|failure| failure.without(account.secret))
    }

    /// Sends a message, in at most 15 s. WeChat drops a second one with the same id within ten minutes.
    pub async fn send(&self, token: &str, id: &str, message: &Message) -> Result<(), Failure> {
        let data = message.fields.iter().map(|(name, value)| (name.clone(), json!({ "value": fitted(name, value) })));
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
            .and_then(|said| taken(&said));
        sent.map_err(|failure| failure.without(token).without(&message.to))
    }

    async fn post(&self, what: &str, body: &Value) -> Result<Said, Failure> {
        let headers = [("content-type", "application/json".to_owned())];
        let url = format!("{}/cgi-bin/{what}", self.api);
        let answer = self.egress.post(&url, &headers, body.to_string().into_bytes()).await;
        read(&answer.map_err(|failure| Failure::of(Verdict::Later, None, failure.message))?)
    }
}

fn read(answer: &Answer) -> Result<Said, Failure> {
    let status = Some(answer.status);
    if !answer.is_success() {
        let verdict = if matches!(answer.status, 429 | 502 | 504) { Verdict::Throttled } else { Verdict::Later };
        let failure = Failure::of(verdict, status, format!("WeChat answered with status {}", answer.status));
        return Err(Failure {
            retry_after: answer.retry_after.filter(|_| matches!(answer.status, 429 | 503)),
            ..failure
        });
    }
    let said = serde_json::from_slice::<Said>(&answer.body);
    let said = said.map_err(|_| Failure::of(Verdict::Later, status, "WeChat's answer is not JSON"))?;
    let code = said.errcode.unwrap_or_default();
    match errcode::verdict(code) {
        Some(verdict) => {
            let line = first_bytes(&closed(&one_line(&said.errmsg)), TOLD_BYTES);
            let told = format!("WeChat answered {code}: {line}");
            Err(Failure::of(verdict, status, told))
        }
        None => Ok(said),
    }
}

/// Any proxy may send a response; only one with a code proves that WeChat accepted the message.
fn taken(said: &Said) -> Result<(), Failure> {
    let is_said = said.errcode.is_some();
    is_said.then_some(()).ok_or_else(|| Failure::of(Verdict::Later, Some(200), "WeChat answered without a code"))
}

fn granted(said: Said) -> Result<Granted, Failure> {
    let is_token = |text: &String| {
        let is_part = |of: char| of.is_ascii_alphanumeric() || of == '-' || of == '_';
        (1..=TOKEN_CHARACTERS).contains(&text.len()) && text.chars().all(is_part)
    };
    let token = said.access_token.filter(is_token).zip(said.expires_in);
    let (token, seconds) =
        token.ok_or_else(|| Failure::of(Verdict::Later, Some(200), "WeChat answered without a token"))?;
    let all = Duration::from_secs(seconds.min(86_400));
    let lasts = all.saturating_sub(EARLY).max(all / 2).max(LEAST);
    Ok(Granted { token, lasts: Millis::try_from(lasts.as_millis()).unwrap_or_default() })
}

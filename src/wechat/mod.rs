//! The API of WeChat, as far as official accounts send template messages by it.
//!
//! Whether a message is due, and how often it is tried again, its caller decides. Here it is made to fit (`field`) and posted, and what is
//! answered is read as what can be done about it (`errcode`). What was let in with is in no error.

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

/// The most characters of a token; the documentation asks for room for 512.
const TOKEN_CHARACTERS: usize = 1024;
/// How long before its end a token is used no more: from then on, WeChat hands out the next one.
const EARLY: Duration = Duration::from_mins(5);
/// How long one is used at least, whatever is said of its end: where it is refused, another one is asked for.
const LEAST: Duration = Duration::from_secs(10);
/// The most bytes of what is told of an answer.
const TOLD_BYTES: usize = 400;

/// Sends messages.
#[derive(Debug)]
pub struct WeChat {
    egress: Egress,
    /// Without a slash at its end.
    api: String,
}

/// What an account is let in with. It is shown nowhere.
pub struct Account<'a> {
    pub app_id: &'a str,
    pub secret: &'a str,
}

/// How to ask for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// For the one that counts now: whoever asks gets the same, until it ends.
    Usual,
    /// For another one, at once. That may be done 20 times a day, 30 s apart; otherwise WeChat answers with the one that counts.
    Another,
}

/// What WeChat lets in with for some time.
pub struct Granted {
    pub token: String,
    /// How long it is to be used, in milliseconds.
    pub lasts: Millis,
}

/// A message to somebody who follows the account.
#[derive(Clone, Debug)]
pub struct Message {
    /// Whom it is for: their open id.
    pub to: String,
    /// The template's id.
    pub template: String,
    /// What its fields say, by their names; as whoever writes it wants, for it is made to fit here.
    pub fields: Vec<(String, String)>,
    /// Where a click leads: an absolute URL.
    pub url: Option<String>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub verdict: Verdict,
    /// Of HTTP, where there was an answer.
    pub status: Option<u16>,
    /// For whoever owns the account, at most 500 bytes.
    pub told: String,
    /// How long it wants to be left alone, where it has said so.
    pub retry_after: Option<Duration>,
}

impl Failure {
    fn of(verdict: Verdict, status: Option<u16>, told: impl Into<String>) -> Self {
        Self { verdict, status, told: told.into(), retry_after: None }
    }

    /// Without something that WeChat may have repeated.
    fn without(mut self, secret: &str) -> Self {
        self.told = without_secret(&self.told, secret);
        self
    }
}

/// What every answer says of how it went; nothing where it went well and there is something else to say.
#[derive(Deserialize)]
struct Said {
    errcode: Option<i64>,
    #[serde(default)]
    errmsg: String,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl WeChat {
    /// By the settings.
    ///
    /// Fails with `Config` where the API stands at an address that may not be reached.
    pub fn new(egress: Egress, config: &WeChatConfig) -> Result<Self> {
        let api = config.api.trim_end_matches('/').to_owned();
        let wrong = |error: Error| Error::Config(format!("TIDINGS_WECHAT_API {}", error.told()));
        let url = egress.check(&api).map_err(wrong)?;
        if url.query().is_some() {
            return Err(Error::Config("TIDINGS_WECHAT_API must not have a query".into()));
        }
        Ok(Self { egress, api })
    }

    /// Asks for a token: 15 s at the most.
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

    /// Sends a message under this id, by which WeChat knows one that comes twice within ten minutes: 15 s at the most.
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
    let said =
        said.map_err(|_| Failure::of(Verdict::Later, status, "WeChat answered with something else than JSON"))?;
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

/// Whoever stands between may answer with anything: only WeChat says that it has taken a message.
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

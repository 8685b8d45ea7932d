//! SMTP relays of tenants.

use std::fmt::{self, Debug, Formatter};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::address::parse_mailbox;
use base::error::{Error, Result};

/// Maximum bytes of a relay's URL.
const URL_BYTES: usize = 2048;

/// How a connection is encrypted. If it is, the relay must prove that it is the named host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SmtpEncryption {
    /// From the first byte: `smtps://`.
    Always,
    /// By `STARTTLS`, before anything else is sent.
    Required,
    /// By `STARTTLS` if the relay offers it.
    Opportunistic,
    /// Not encrypted.
    None,
}

/// The pool key: connections with equal keys can replace each other. Its `Debug` omits the login.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RelayKey {
    /// As in URLs: a name in lower case, or an address.
    pub host: String,
    pub port: u16,
    pub encryption: SmtpEncryption,
    /// User name and password.
    pub login: Option<(String, String)>,
    /// The name sent with `EHLO`: the domain of the sender's address.
    pub hello: String,
}

impl Debug for RelayKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { host, port, encryption, .. } = self;
        write!(f, "{host}:{port} ({encryption:?})")
    }
}

/// An SMTP relay and the sender's addresses. Its `Debug` omits the login.
#[derive(Clone, Debug)]
pub struct SmtpRelay {
    door: RelayKey,
    from: Mailbox,
    reply_to: Option<Mailbox>,
}

impl SmtpRelay {
    /// Parses a relay URL: `smtps://user:password@host:465`, or `smtp://host:587?tls=required`, where `opportunistic`
    /// encrypts if the relay offers it, and `none` never encrypts. These are the default ports. User name and password
    /// are percent-encoded; they require `smtps`, `tls=required` or an explicit `tls=none`. `from` and `reply_to` may
    /// have names: `Ada <ada@example.com>`.
    ///
    /// Fails with `BadInput` for `url`, `from` or `replyTo`, without showing the value.
    pub fn parse(url: &str, from: &str, reply_to: Option<&str>) -> Result<Self> {
        let from = parse_mailbox(from).map_err(|error| error.with_field_prefix("from"))?;
        let reply_to = reply_to.map(parse_mailbox).transpose().map_err(|error| error.with_field_prefix("replyTo"))?;
        let door = parse_relay_url(url, from.email.domain()).map_err(|why| Error::bad_input("url", why))?;
        Ok(Self { door, from, reply_to })
    }

    /// The relay's host, as in URLs.
    pub fn host(&self) -> &str {
        &self.door.host
    }

    pub(super) fn pool_key(&self) -> &RelayKey {
        &self.door
    }

    pub(super) fn from(&self) -> &Mailbox {
        &self.from
    }

    pub(super) fn reply_to(&self) -> Option<&Mailbox> {
        self.reply_to.as_ref()
    }

    /// The login as it is sent over the wire; it must not be shown.
    pub(super) fn secret_forms(&self) -> Vec<String> {
        let Some((name, password)) = &self.door.login else { return Vec::new() };
        let plain = format!("\0{name}\0{password}");
        vec![STANDARD.encode(plain), STANDARD.encode(password), STANDARD.encode(name), password.clone(), name.clone()]
    }
}

fn parse_relay_url(text: &str, hello: &str) -> Result<RelayKey, &'static str> {
    const EXAMPLE: &str =
        "must be a URL such as smtps://user:password@mail.example.com:465 or smtp://mail.example.com:587";
    if text.len() > URL_BYTES {
        return Err("must have at most 2048 bytes");
    }
    if text.chars().any(|char| char.is_control() || char.is_whitespace()) {
        return Err("must not contain white space or control characters");
    }
    let url = Url::parse(text).map_err(|_| EXAMPLE)?;
    let is_bare = matches!(url.path(), "" | "/") && url.fragment().is_none();
    let host = url.host_str().and_then(parse_host).filter(|_| is_bare).ok_or(EXAMPLE)?;
    let encryption = parse_encryption(&url)?;
    let login = parse_login(&url)?;
    if login.is_some() && encryption == SmtpEncryption::Opportunistic {
        return Err("must not have a password without encryption: tls=required is needed");
    }
    let usual = if encryption == SmtpEncryption::Always { 465 } else { 587 };
    let port = url.port().unwrap_or(usual);
    if port == 0 {
        return Err(EXAMPLE);
    }
    Ok(RelayKey { host, port, encryption, login, hello: hello.to_owned() })
}

fn parse_encryption(url: &Url) -> Result<SmtpEncryption, &'static str> {
    match (url.scheme(), url.query()) {
        ("smtps", None) => Ok(SmtpEncryption::Always),
        ("smtp", None | Some("tls=required")) => Ok(SmtpEncryption::Required),
        ("smtp", Some("tls=opportunistic")) => Ok(SmtpEncryption::Opportunistic),
        ("smtp", Some("tls=none")) => Ok(SmtpEncryption::None),
        ("smtp", _) => Err("must have nothing after the ? except tls=required, tls=opportunistic or tls=none"),
        ("smtps", _) => Err("must have nothing after the ?, because smtps: is always encrypted"),
        _ => Err("must begin with smtps: or smtp:"),
    }
}

fn parse_login(url: &Url) -> Result<Option<(String, String)>, &'static str> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8().ok()?.into_owned();
        (!text.is_empty() && !text.chars().any(char::is_control)).then_some(text)
    };
    match (decoded(url.username()), url.password().and_then(decoded)) {
        (Some(name), Some(password)) => Ok(Some((name, password))),
        _ => Err("must have both a user name and a password, percent-encoded, or neither"),
    }
}

/// Parses a host as the HTTP client does, so that both read the same address.
fn parse_host(text: &str) -> Option<String> {
    let url = Url::parse(&format!("https://{text}/")).ok()?;
    let is_host = url.username().is_empty() && url.port().is_none() && url.path() == "/";
    url.host_str().filter(|host| is_host && !host.is_empty()).map(str::to_owned)
}

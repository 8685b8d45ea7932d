//! Why a relay did not accept an email, and what can be done about it.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};

use lettre::transport::smtp;

use crate::egress;
use base::text::{close_directions, first_bytes, one_line, without_secret};

/// Maximum bytes of a failure's text.
const TOLD_BYTES: usize = 500;

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpFailureKind {
    /// Retry later: no connection, no reply, or a temporary reply that concerns neither an address nor an email (421,
    /// or 4xx before an address was sent). Counts against the relay.
    Later,
    /// Retry this email: the relay cannot accept it, or this address, for now (4xx). Other emails continue.
    Deferred,
    /// The address does not exist or accepts no email (550, 551, 553, 5.1.x).
    Recipient,
    /// The relay rejects this email for any recipient (552, 554 and others), or the email is invalid.
    Letter,
    /// Login or configuration is wrong: the relay accepts no email until an operator fixes it (530, 534, 535, 538, TLS,
    /// the sender's address).
    Relay,
    /// The server does not connect: no address of the relay is allowed.
    Refused,
}

/// The relay did not accept the email, as far as the server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpFailure {
    pub kind: SmtpFailureKind,
    /// The status of the reply.
    pub code: Option<u16>,
    /// For the owner of the relay: one line of at most 500 bytes, without the login and without the recipient's
    /// address.
    pub told: String,
    /// Whether the relay closed the connection before it accepted any of the email.
    pub(super) is_closed: bool,
}

impl Display for SmtpFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
    }
}

impl StdError for SmtpFailure {}

/// The step at which sending failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SmtpStage {
    /// Connecting, and `EHLO`.
    Greeting,
    Encryption,
    Login,
    /// `MAIL FROM`.
    From,
    /// `RCPT TO`.
    To,
    /// `DATA`, before any of the text was sent.
    Data,
    /// The text of the email.
    Text,
}

impl SmtpFailure {
    pub(super) fn new(kind: SmtpFailureKind, told: &str) -> Self {
        Self { kind, code: None, told: reply_line(told), is_closed: false }
    }

    pub(super) fn timed_out(told: &str) -> Self {
        Self::new(SmtpFailureKind::Later, told)
    }

    /// The host has no usable address.
    pub(super) fn no_address(failure: &egress::RequestFailure) -> Self {
        let is_refused = failure.kind == egress::RequestFailureKind::Refused;
        Self::new(if is_refused { SmtpFailureKind::Refused } else { SmtpFailureKind::Later }, &failure.message)
    }

    /// The relay does not accept a connection.
    pub(super) fn not_connected(why: &str) -> Self {
        Self { is_closed: true, ..Self::new(SmtpFailureKind::Later, &format!("could not connect: {why}")) }
    }

    /// Maps the relay's reply, or the lack of one.
    pub(super) fn from_smtp(stage: SmtpStage, error: &smtp::Error) -> Self {
        let causes: Vec<&(dyn StdError + 'static)> =
            std::iter::successors(error.source(), |cause| (*cause).source()).collect();
        let said = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        if let Some(code) = error.status().map(u16::from) {
            let kind = classify_reply(stage, code, &said);
            let is_closed = code == 421 && stage < SmtpStage::Text;
            return Self {
                kind,
                code: Some(code),
                told: reply_line(&format!("the relay says {code}: {said}")),
                is_closed,
            };
        }
        if error.is_tls() || is_untrusted(&causes) {
            return Self::new(SmtpFailureKind::Relay, &format!("the connection cannot be encrypted: {said}"));
        }
        if error.is_client() {
            return Self::new(
                SmtpFailureKind::Relay,
                &format!("the relay does not support a required feature: {said}"),
            );
        }
        // A reply that is not SMTP could repeat anything the server sent.
        let said = if error.is_response() { "its answer is not SMTP".to_owned() } else { said };
        let told = match stage {
            SmtpStage::Greeting => return Self::not_connected(&said),
            _ => format!("the connection ended without an answer: {said}"),
        };
        Self { is_closed: stage < SmtpStage::Text, ..Self::new(SmtpFailureKind::Later, &told) }
    }

    /// The relay's reply does not match the command.
    pub(super) fn unexpected_reply() -> Self {
        Self::new(SmtpFailureKind::Later, "the relay's reply does not match the command")
    }

    /// Removes secrets, which the relay's reply may repeat. The server's own text has none.
    pub(super) fn without_secrets(self, secrets: &[String]) -> Self {
        let Some((ours, said)) = self.told.split_once(": ").filter(|_| self.code.is_some()) else { return self };
        let said = secrets.iter().fold(said.to_owned(), |said, secret| without_secret(&said, secret));
        let told = reply_line(&format!("{ours}: {said}"));
        Self { told, ..self }
    }
}

/// Maps a reply to a kind of failure.
fn classify_reply(stage: SmtpStage, code: u16, said: &str) -> SmtpFailureKind {
    // An enhanced status code (RFC 3463) is more precise than the code before it.
    let detail = said.split_whitespace().next().unwrap_or_default();
    if code < 500 {
        // After the address was sent, 4.3.x means that the relay itself has a problem, such as a full disk.
        let is_of_relay =
            code == 421 || stage <= SmtpStage::From || (stage >= SmtpStage::Data && detail.starts_with("4.3."));
        return if is_of_relay { SmtpFailureKind::Later } else { SmtpFailureKind::Deferred };
    }
    let is_address = detail.starts_with("5.1.") || detail == "5.2.1";
    let is_set_up = matches!(code, 530 | 534 | 535 | 538);
    match (stage, code) {
        // The email is too large: the reply is to `MAIL FROM`, but the sender's address is not the cause.
        (SmtpStage::From, 552) => SmtpFailureKind::Letter,
        _ if is_set_up || stage <= SmtpStage::From => SmtpFailureKind::Relay,
        _ if is_address => SmtpFailureKind::Recipient,
        // A policy such as a sender block list says nothing about the address.
        (SmtpStage::To, 550 | 551 | 553 | 556) if !detail.starts_with("5.7.") => SmtpFailureKind::Recipient,
        _ => SmtpFailureKind::Letter,
    }
}

/// Whether TLS failed: the relay does not speak it, or its certificate is not trusted.
fn is_untrusted(causes: &[&(dyn StdError + 'static)]) -> bool {
    causes.iter().any(|cause| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
    })
}

/// One line of at most 500 bytes.
fn reply_line(text: &str) -> String {
    first_bytes(close_directions(&one_line(text)).trim(), TOLD_BYTES)
}

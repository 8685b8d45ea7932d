//! Why a letter was not taken, and what can be done about it.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};

use lettre::transport::smtp;

use crate::egress;
use crate::text::{closed, first_bytes, one_line, without_secret};

/// The most bytes of what is told.
const TOLD_BYTES: usize = 500;

/// What could be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Try again: there was no connection, or no answer, or one that asks to come back and names neither an address nor a letter (421, or
    /// 4xx before an address was named). It counts against the relay.
    Later,
    /// Try this letter again: the relay cannot take it, or not for this address, for now (4xx). Others go out meanwhile.
    Deferred,
    /// Nobody has this address, or they take no letters (550, 551, 553, 5.1.x).
    Recipient,
    /// This letter is not wanted, by nobody in particular (552, 554 and others), or is none that can be sent.
    Letter,
    /// Login or set-up are wrong: no letter will be taken before somebody changes them (530, 534, 535, 538, TLS, the sender's address).
    Relay,
    /// We do not connect: each address of the relay is one that may not be reached.
    Refused,
}

/// The letter was not taken, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// What the relay answered.
    pub code: Option<u16>,
    /// For whoever owns the relay, one line of at most 500 bytes: without the login, and without the address of the letter.
    pub told: String,
    /// Whether the relay had closed the connection before it took anything of the letter.
    pub(super) is_closed: bool,
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
    }
}

impl StdError for Failure {}

/// What was asked of the relay when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// To be there, and to say what it can.
    Greeting,
    Encryption,
    Login,
    /// To take letters of this sender.
    From,
    /// To take one for this address.
    To,
    /// To take its text, of which nothing was sent.
    Data,
    /// To keep it.
    Text,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, told: &str) -> Self {
        Self { kind, code: None, told: line(told), is_closed: false }
    }

    pub(super) fn timed_out(told: &str) -> Self {
        Self::new(FailureKind::Later, told)
    }

    /// Why the host leads nowhere.
    pub(super) fn nowhere(failure: &egress::Failure) -> Self {
        let is_refused = failure.kind == egress::FailureKind::Refused;
        Self::new(if is_refused { FailureKind::Refused } else { FailureKind::Later }, &failure.message)
    }

    /// Nobody is there.
    pub(super) fn unconnected(why: &str) -> Self {
        Self { is_closed: true, ..Self::new(FailureKind::Later, &format!("there is no connection: {why}")) }
    }

    /// What the relay said, or that it said nothing.
    pub(super) fn of(stage: Stage, error: &smtp::Error) -> Self {
        let causes: Vec<&(dyn StdError + 'static)> =
            std::iter::successors(error.source(), |cause| (*cause).source()).collect();
        let said = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        if let Some(code) = error.status().map(u16::from) {
            let kind = kind(stage, code, &said);
            let is_closed = code == 421 && stage < Stage::Text;
            return Self { kind, code: Some(code), told: line(&format!("the relay says {code}: {said}")), is_closed };
        }
        if error.is_tls() || is_untrusted(&causes) {
            return Self::new(FailureKind::Relay, &format!("the connection cannot be encrypted: {said}"));
        }
        if error.is_client() {
            return Self::new(FailureKind::Relay, &format!("the relay does not offer what is needed: {said}"));
        }
        // What is no answer of SMTP may repeat anything that it was told.
        let said = if error.is_response() { "it is none of SMTP".to_owned() } else { said };
        let told = match stage {
            Stage::Greeting => return Self::unconnected(&said),
            _ => format!("the connection ended without an answer: {said}"),
        };
        Self { is_closed: stage < Stage::Text, ..Self::new(FailureKind::Later, &told) }
    }

    /// The relay took something for what it is not.
    pub(super) fn confused() -> Self {
        Self::new(FailureKind::Later, "the relay answers something else than what it was asked")
    }

    /// The same without secrets, which the relay may repeat. Our own words have none.
    pub(super) fn without(self, secrets: &[String]) -> Self {
        let Some((ours, said)) = self.told.split_once(": ").filter(|_| self.code.is_some()) else { return self };
        let said = secrets.iter().fold(said.to_owned(), |said, secret| without_secret(&said, secret));
        let told = line(&format!("{ours}: {said}"));
        Self { told, ..self }
    }
}

/// What an answer means.
fn kind(stage: Stage, code: u16, said: &str) -> FailureKind {
    // An enhanced status (RFC 3463) is more exact than the code before it.
    let detail = said.split_whitespace().next().unwrap_or_default();
    if code < 500 {
        // Once it has the address, the relay says with 4.3.x that it is itself out of order, as when its disk is full.
        let is_of_relay = code == 421 || stage <= Stage::From || (stage >= Stage::Data && detail.starts_with("4.3."));
        return if is_of_relay { FailureKind::Later } else { FailureKind::Deferred };
    }
    let is_address = detail.starts_with("5.1.") || detail == "5.2.1";
    let is_set_up = matches!(code, 530 | 534 | 535 | 538);
    match (stage, code) {
        // Too large: the sender is named with it, but is not to blame.
        (Stage::From, 552) => FailureKind::Letter,
        _ if is_set_up || stage <= Stage::From => FailureKind::Relay,
        _ if is_address => FailureKind::Recipient,
        // Policy, such as a list of senders that are blocked, says nothing against the address.
        (Stage::To, 550 | 551 | 553 | 556) if !detail.starts_with("5.7.") => FailureKind::Recipient,
        _ => FailureKind::Letter,
    }
}

/// Whether the other side speaks no TLS, or proves to be nobody whom we trust.
fn is_untrusted(causes: &[&(dyn StdError + 'static)]) -> bool {
    causes.iter().any(|cause| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
    })
}

/// One line of at most 500 bytes.
fn line(text: &str) -> String {
    first_bytes(closed(&one_line(text)).trim(), TOLD_BYTES)
}

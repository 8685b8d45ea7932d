//! What came back, and why nothing did.

use std::error::Error as StdError;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::Duration;

use chrono::DateTime;
use reqwest::Response;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

use super::gate::is_public;
use super::lookup::NoAddress;
use crate::text::{closed, first_bytes, one_line};

/// The most bytes of an answer's body that are read, as Standard Webhooks has it; the connection is given up over what is longer.
const BODY_BYTES: usize = 20_000;
/// The most bytes of what is shown of an answer or failure.
const SHOWN_BYTES: usize = 500;

/// What a receiver answered.
pub struct Answer {
    /// As it is in HTTP. A redirection is not followed.
    pub status: u16,
    /// How long the receiver wants to be left alone, whatever the status.
    pub retry_after: Option<Duration>,
    /// Not unpacked, and cut after 20,000 bytes, or where the receiver ceased to send or the time was over: what counts is the status.
    pub body: Vec<u8>,
    /// Whether it came from an address that is not of the public internet.
    pub is_private: bool,
}

/// Without the body, which is for whoever owns the receiver.
impl Debug for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

impl Answer {
    pub(super) async fn read(mut answer: Response) -> Self {
        let (status, retry_after) = (answer.status().as_u16(), retry_after(answer.headers()));
        let is_private = answer.remote_addr().is_none_or(|address| !is_public(address.ip().to_canonical()));
        let mut body = Vec::new();
        while body.len() < BODY_BYTES
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            let rest = BODY_BYTES - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(rest)]);
        }
        Self { status, retry_after, body, is_private }
    }

    /// Whether the receiver has taken it: 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What is shown of the body: its beginning as one line of at most 500 bytes. Nothing of a private address: callers who may name
    /// addresses would read the operator's own network by it.
    pub fn excerpt(&self) -> String {
        if self.is_private {
            return String::new();
        }
        let beginning = &self.body[..self.body.len().min(SHOWN_BYTES)];
        shown(&String::from_utf8_lossy(beginning))
    }
}

/// Seconds, or a date (RFC 9110, section 10.2.3), which is compared with the receiver's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let said = text(RETRY_AFTER)?;
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    (date(said)? - date(text(DATE)?)?).to_std().ok()
}

/// One line of at most 500 bytes.
fn shown(text: &str) -> String {
    first_bytes(closed(&one_line(text)).trim(), SHOWN_BYTES)
}

/// What could be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// We do not send it: the URL, or each address of its host, is one that may not be reached.
    Refused,
    /// The host has no address, or nobody can say now.
    NotFound,
    /// Nobody takes the connection, or nobody who proves to be the host.
    Unreachable,
    /// It took longer than it may. The receiver may have it nevertheless.
    TimedOut,
    /// The connection ended, or what came is not HTTP. The receiver may have it nevertheless.
    Broken,
}

/// There is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// For whoever owns the receiver, at most 500 bytes: it shows nothing of the URL, of headers or of what was sent.
    pub message: String,
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Failure {}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: &str) -> Self {
        Self { kind, message: shown(message) }
    }

    pub(super) fn nowhere(cause: &NoAddress) -> Self {
        let kind = match cause {
            NoAddress::Unknown(_) => FailureKind::NotFound,
            NoAddress::Refused => FailureKind::Refused,
        };
        Self::new(kind, &cause.to_string())
    }

    pub(super) fn of(error: reqwest::Error) -> Self {
        // An error says in its own words that something failed; what caused it is further on.
        let error = error.without_url();
        let causes: Vec<&(dyn StdError + 'static)> =
            std::iter::successors(error.source(), |cause| (*cause).source()).collect();
        if let Some(cause) = causes.iter().find_map(|cause| cause.downcast_ref::<NoAddress>()) {
            return Self::nowhere(cause);
        }
        let last = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        if error.is_builder() {
            return Self::new(FailureKind::Unreachable, &format!("no requests can be sent: {last}"));
        }
        match (error.is_timeout(), error.is_connect()) {
            (true, true) => Self::new(FailureKind::TimedOut, "there was no connection in time"),
            (true, false) => Self::new(FailureKind::TimedOut, "there was no answer in time"),
            (false, true) => Self::new(FailureKind::Unreachable, &format!("there is no connection: {last}")),
            (false, false) => {
                Self::new(FailureKind::Broken, &format!("the connection ended without an answer: {last}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

    use super::{Answer, retry_after};

    #[test]
    fn a_receiver_asks_for_seconds_or_for_a_date_by_its_own_clock() {
        let of = |after: &'static str, date: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(after))]);
            headers.extend(date.map(|date| (DATE, HeaderValue::from_static(date))));
            retry_after(&headers).map(|of| of.as_secs())
        };
        let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(of("120", None), Some(120));
        assert_eq!(of("Wed, 21 Oct 2015 07:30:00 GMT", date), Some(120));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT", None), None);
        assert_eq!(of("Wed, 21 Oct 2015 07:20:00 GMT", date), None, "it is over");
        for wrong in ["", "-1", "soon", "1.5", "99999999999999999999999"] {
            assert_eq!(of(wrong, date), None, "{wrong}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn what_is_shown_of_a_body_is_one_line_of_500_bytes() {
        let excerpt = |body: &[u8]| {
            let mut answer =
                Answer { status: 200, retry_after: Some(Duration::ZERO), body: body.to_vec(), is_private: true };
            assert_eq!(answer.excerpt(), "", "a private address is not read by callers");
            answer.is_private = false;
            assert!(!format!("{answer:?}").contains("body"));
            answer.excerpt()
        };
        assert_eq!(excerpt(b"no such\r\n\0hook\n"), "no such hook");
        assert_eq!(excerpt(&vec![b'a'; 20_000]).len(), 500);
        assert_eq!(excerpt("ü".repeat(20_000).as_bytes()), "ü".repeat(250));
        assert!(excerpt(&vec![0xff; 20_000]).len() <= 500);
        assert_eq!(excerpt(b""), "");
    }
}

//! Responses and failures of outgoing requests.

use std::error::Error as StdError;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::Duration;

use chrono::DateTime;
use reqwest::Response;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

use super::address_rules::is_public;
use super::resolver::NoAddress;
use base::text::{close_directions, first_bytes, one_line};

/// Maximum bytes read of a response body, as in Standard Webhooks; a longer response closes the connection.
const BODY_BYTES: usize = 20_000;
/// Maximum bytes shown of a response or failure.
const SHOWN_BYTES: usize = 500;

/// The response of a receiver.
pub struct EgressResponse {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    /// `Retry-After`, with any status.
    pub retry_after: Option<Duration>,
    /// Not decompressed. Cut after 20,000 bytes, or when the receiver stops sending or the time is over: the status
    /// decides.
    pub body: Vec<u8>,
    /// Whether the response came from an address outside the public internet.
    pub is_private: bool,
}

/// Omits the body, which is only for the owner of the receiver.
impl Debug for EgressResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressResponse")
            .field("status", &self.status)
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

impl EgressResponse {
    pub(super) async fn read_response(mut answer: Response) -> Self {
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

    /// Whether the receiver accepted the request: 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The start of the body as one line of at most 500 bytes. Empty for a private address: otherwise callers who can
    /// name URLs could read the operator's network.
    pub fn excerpt(&self) -> String {
        if self.is_private {
            return String::new();
        }
        let beginning = &self.body[..self.body.len().min(SHOWN_BYTES)];
        excerpt_line(&String::from_utf8_lossy(beginning))
    }
}

/// Seconds, or a date (RFC 9110, section 10.2.3), which is compared with the receiver's own `Date`.
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
fn excerpt_line(text: &str) -> String {
    first_bytes(close_directions(&one_line(text)).trim(), SHOWN_BYTES)
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailureKind {
    /// The server does not send the request: the URL, or every address of its host, is not allowed.
    Refused,
    /// The host has no address, or DNS does not answer.
    NotFound,
    /// The connection is refused, or the TLS certificate does not match the host.
    Unreachable,
    /// The time limit has passed. The receiver may have received the request.
    TimedOut,
    /// The connection ended early, or the response is not HTTP. The receiver may have received the request.
    Broken,
}

/// A request without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFailure {
    pub kind: RequestFailureKind,
    /// At most 500 bytes, for the owner of the receiver. Contains nothing of the URL, the headers or the body.
    pub message: String,
}

impl Display for RequestFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for RequestFailure {}

impl RequestFailure {
    pub(super) fn new(kind: RequestFailureKind, message: &str) -> Self {
        Self { kind, message: excerpt_line(message) }
    }

    pub(super) fn no_address(cause: &NoAddress) -> Self {
        let kind = match cause {
            NoAddress::Unknown(_) => RequestFailureKind::NotFound,
            NoAddress::Refused => RequestFailureKind::Refused,
        };
        Self::new(kind, &cause.to_string())
    }

    pub(super) fn from_reqwest(error: reqwest::Error) -> Self {
        // The outermost error only says that something failed; the cause follows in the chain.
        let error = error.without_url();
        let causes: Vec<&(dyn StdError + 'static)> =
            std::iter::successors(error.source(), |cause| (*cause).source()).collect();
        if let Some(cause) = causes.iter().find_map(|cause| cause.downcast_ref::<NoAddress>()) {
            return Self::no_address(cause);
        }
        let last = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        if error.is_builder() {
            return Self::new(RequestFailureKind::Unreachable, &format!("the HTTP client cannot be created: {last}"));
        }
        match (error.is_timeout(), error.is_connect()) {
            (true, true) => Self::new(RequestFailureKind::TimedOut, "could not connect in time"),
            (true, false) => Self::new(RequestFailureKind::TimedOut, "there was no answer in time"),
            (false, true) => Self::new(RequestFailureKind::Unreachable, &format!("could not connect: {last}")),
            (false, false) => {
                Self::new(RequestFailureKind::Broken, &format!("the connection ended without an answer: {last}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

    use super::{EgressResponse, retry_after};

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
            let mut answer = EgressResponse {
                status: 200,
                retry_after: Some(Duration::ZERO),
                body: body.to_vec(),
                is_private: true,
            };
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

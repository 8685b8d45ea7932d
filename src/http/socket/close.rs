//! How sockets are closed.

use crate::error::Result;

/// Why a socket is closed: the protocol's codes, and those of RFC 6455 with IANA's additions.
#[derive(Clone, Copy, Debug)]
#[repr(u16)]
pub enum Close {
    TooBig = 1009,
    ServiceRestart = 1012,
    TryAgainLater = 1013,
    BadRequest = 4400,
    Unauthorized = 4401,
    Forbidden = 4403,
    InitTimeout = 4408,
    SubscriberExists = 4409,
    TooMany = 4429,
}

/// How a socket ends: by a word of ours, or because the client has gone.
pub type Ending = Option<(Close, String)>;

/// Ends a socket with a word of ours.
pub fn end(code: Close, reason: &str) -> Result<(), Ending> {
    Err(Some((code, reason.to_owned())))
}

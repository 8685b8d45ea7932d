//! Close codes and reasons.

use base::error::Result;

/// Close codes of the sub-protocol, and those of RFC 6455 with IANA's additions.
#[derive(Clone, Copy, Debug)]
#[repr(u16)]
pub enum CloseStatus {
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

/// How a WebSocket ends: with a close code from the server, or `None` if the client is gone.
pub type CloseReason = Option<(CloseStatus, String)>;

/// Ends a WebSocket with a close code.
pub fn close_with(code: CloseStatus, reason: &str) -> Result<(), CloseReason> {
    Err(Some((code, reason.to_owned())))
}

//! The client of a WebSocket.

use tokio::time::Instant;

use super::close::{CloseReason, CloseStatus};
use crate::app::App;
use crate::graphql::Viewer;
use crate::http::credentials::{RequestCredentials, verify_credentials};
use crate::http::server::Server;
use crate::http::session::{OpenSession, SessionCredential, SessionPermit};
use base::error::{Error, Result};

/// An authenticated client.
pub struct SocketClient {
    pub viewer: Viewer,
    /// When the credential must be checked again.
    pub expires_at: Instant,
    pub pass: SessionCredential,
    _session: OpenSession,
}

impl SocketClient {
    /// Accepts a credential for as long as it is valid from now on.
    pub fn set_credential(&mut self, app: &App, pass: SessionCredential) {
        self.expires_at = Instant::now() + pass.time_left(app);
        self.pass = pass;
    }
}

/// Authenticates a client and reserves its session.
pub async fn admit_client(
    server: &Server,
    place: SessionPermit,
    shown: RequestCredentials,
) -> Result<SocketClient, CloseReason> {
    let (viewer, pass) = check_credentials(server, shown).await?;
    let session = close_on_error(place.into_session(&viewer))?;
    Ok(SocketClient { viewer, expires_at: Instant::now() + pass.time_left(&server.app), pass, _session: session })
}

pub async fn check_credentials(
    server: &Server,
    shown: RequestCredentials,
) -> Result<(Viewer, SessionCredential), CloseReason> {
    close_on_error(verify_credentials(server, shown).await)
}

/// The close code after a refusal: the client needs another token, or should retry later.
fn close_on_error<T>(admitted: Result<T>) -> Result<T, CloseReason> {
    admitted.map_err(|error| {
        let is_unknown = matches!(error, Error::Unauthenticated(_));
        Some((if is_unknown { CloseStatus::Forbidden } else { CloseStatus::TryAgainLater }, error.to_string()))
    })
}

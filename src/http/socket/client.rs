//! The client of a WebSocket.

use tokio::time::Instant;

use super::close::{Close, Ending};
use crate::app::App;
use crate::error::{Error, Result};
use crate::graphql::Viewer;
use crate::http::caller::{Shown, verified};
use crate::http::server::Server;
use crate::http::session::{Pass, Place, Session};

/// An authenticated client.
pub struct Client {
    pub viewer: Viewer,
    /// When the credential must be checked again.
    pub expires_at: Instant,
    pub pass: Pass,
    _session: Session,
}

impl Client {
    /// Accepts a credential for as long as it is valid from now on.
    pub fn stay(&mut self, app: &App, pass: Pass) {
        self.expires_at = Instant::now() + pass.left(app);
        self.pass = pass;
    }
}

/// Authenticates a client and reserves its session.
pub async fn admit(server: &Server, place: Place, shown: Shown) -> Result<Client, Ending> {
    let (viewer, pass) = check(server, shown).await?;
    let session = turned_away(place.taken(&viewer))?;
    Ok(Client { viewer, expires_at: Instant::now() + pass.left(&server.app), pass, _session: session })
}

pub async fn check(server: &Server, shown: Shown) -> Result<(Viewer, Pass), Ending> {
    turned_away(verified(server, shown).await)
}

/// The close code after a refusal: the client needs another token, or should retry later.
fn turned_away<T>(admitted: Result<T>) -> Result<T, Ending> {
    admitted.map_err(|error| {
        let is_unknown = matches!(error, Error::Unauthenticated(_));
        Some((if is_unknown { Close::Forbidden } else { Close::TryAgainLater }, error.to_string()))
    })
}

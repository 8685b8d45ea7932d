//! Who is at the other end of a socket.

use tokio::time::Instant;

use super::close::{Close, Ending};
use crate::app::App;
use crate::error::{Error, Result};
use crate::graphql::Viewer;
use crate::http::caller::{Shown, verified};
use crate::http::server::Server;
use crate::http::session::{Pass, Place, Session};

/// Who has shown a token.
pub struct Client {
    pub viewer: Viewer,
    /// When what they have shown is to be looked at again.
    pub expires_at: Instant,
    pub pass: Pass,
    _session: Session,
}

impl Client {
    /// Lets them stay by what they have shown, for as long as that counts from now on.
    pub fn stay(&mut self, app: &App, pass: Pass) {
        self.expires_at = Instant::now() + pass.left(app);
        self.pass = pass;
    }
}

/// The client behind what they show, if they may have one session more.
pub async fn admit(server: &Server, place: Place, shown: Shown) -> Result<Client, Ending> {
    let (viewer, pass) = check(server, shown).await?;
    let session = turned_away(place.taken(&viewer))?;
    Ok(Client { viewer, expires_at: Instant::now() + pass.left(&server.app), pass, _session: session })
}

pub async fn check(server: &Server, shown: Shown) -> Result<(Viewer, Pass), Ending> {
    turned_away(verified(server, shown).await)
}

/// A client that is not admitted shows another token, or comes again later.
fn turned_away<T>(admitted: Result<T>) -> Result<T, Ending> {
    admitted.map_err(|error| {
        let is_unknown = matches!(error, Error::Unauthenticated(_));
        Some((if is_unknown { Close::Forbidden } else { Close::TryAgainLater }, error.to_string()))
    })
}

//! Sends email by SMTP through relays that tenants configure; `egress` decides which hosts are allowed.
//!
//! The caller decides when to send and when to retry. This module formats the email, sends it over a pooled connection,
//! and classifies the relay's reply.

mod address;
mod bounded;
mod failure;
mod language;
mod layout;
mod letter;
mod pool;
mod relay;
mod session;
/// A relay for the tests.
#[cfg(test)]
#[path = "../../tests/it/support/relay.rs"]
mod smtp;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use lettre::transport::smtp::client::Certificate;

use crate::egress::Egress;
use crate::error::{Error, Result};
pub use address::address;
pub use failure::{Failure, FailureKind};
pub use layout::{Entry, Page, page};
use letter::Written;
pub use letter::{Letter, URL_BYTES};
use pool::Pool;
pub use relay::Relay;
use session::{Connector, Session};
pub use words::Words;

/// How long an idle connection is kept. Relays close it after a minute or more, some earlier.
const IDLE: Duration = Duration::from_secs(20);
/// Time limit for connecting, over all addresses of the host.
const CONNECT: Duration = Duration::from_secs(5);
/// Time limit for all: connection, login and the email.
const ALL: Duration = Duration::from_secs(30);

/// Sends emails.
///
/// Keeps up to 4 idle connections per relay for 20 s. The callers decide how many emails are in flight.
#[derive(Debug)]
pub struct Mail {
    connector: Connector,
    pool: Pool,
    all: Duration,
}

impl Mail {
    /// Sends to hosts that `egress` allows.
    pub fn new(egress: Egress) -> Self {
        Self::with(egress, Vec::new(), ALL)
    }

    fn with(egress: Egress, roots: Vec<Certificate>, all: Duration) -> Self {
        Self { connector: Connector::new(egress, roots, CONNECT.min(all)), pool: Pool::new(IDLE), all }
    }

    /// Checks a relay before it is saved: its address must be allowed, and only hosts that the settings list may go
    /// without encryption. Names are resolved for each connection, not here.
    ///
    /// Fails with `BadInput`; the caller adds the field (`Error::within`).
    pub fn check(&self, relay: &Relay) -> Result<()> {
        self.connector.may_lead(relay).map_err(|why| Error::bad_input("", why))
    }

    /// Sends an email to a relay: 5 s to connect, 30 s in all.
    ///
    /// Sends nothing more after it returns or is dropped. After a failure of kind `Later` the relay may have accepted
    /// the email nevertheless; a recipient who gets it twice can tell by its `id`.
    pub async fn send(&self, relay: &Relay, letter: &Letter<'_>) -> Result<u16, Failure> {
        let written = letter.write(relay)?;
        let handed = tokio::time::timeout(self.all, self.hand(relay, &written)).await;
        let handed = handed.unwrap_or_else(|_| Err(Failure::timed_out("the relay did not accept the email in time")));
        handed.map_err(|failure| failure.without(&[relay.secrets(), vec![letter.to.to_owned()]].concat()))
    }

    /// Sends over an idle connection if one still works, else over a new one.
    async fn hand(&self, relay: &Relay, written: &Written) -> Result<u16, Failure> {
        if let Some(kept) = self.pool.take(relay.door()) {
            match self.hand_over(relay, kept, written).await {
                Err(failure) if failure.is_closed => {}
                handed => return handed,
            }
        }
        let fresh = self.connector.open(relay).await?;
        self.hand_over(relay, fresh, written).await
    }

    async fn hand_over(&self, relay: &Relay, mut session: Session, written: &Written) -> Result<u16, Failure> {
        let handed = session.hand(written).await;
        if session.is_ready() {
            self.pool.put(relay.door(), session);
        }
        handed
    }
}

//! Mail, by SMTP, over relays that tenants have named: `egress` decides where their hosts lead.
//!
//! Whether a letter is due, and how often it is tried again, its caller decides. Here it is written, handed to the relay over a
//! connection that may serve several, and what the relay says is read as what can be done about it.

mod address;
mod bounded;
mod failure;
mod language;
mod layout;
mod letter;
mod pool;
mod relay;
mod session;
/// A relay of the tests.
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

/// How long a connection is kept that nobody uses. Relays close it after a minute or more, and some after less.
const IDLE: Duration = Duration::from_secs(20);
/// For the connection to be made, to all addresses of the host.
const CONNECT: Duration = Duration::from_secs(5);
/// For all of it: connection, login and the letter.
const ALL: Duration = Duration::from_secs(30);

/// Sends letters.
///
/// Up to 4 connections to each relay are kept for 20 s; how many letters go out at once their senders decide.
#[derive(Debug)]
pub struct Mail {
    connector: Connector,
    pool: Pool,
    all: Duration,
}

impl Mail {
    /// To hosts that `egress` lets through.
    pub fn new(egress: Egress) -> Self {
        Self::with(egress, Vec::new(), ALL)
    }

    fn with(egress: Egress, roots: Vec<Certificate>, all: Duration) -> Self {
        Self { connector: Connector::new(egress, roots, CONNECT.min(all)), pool: Pool::new(IDLE), all }
    }

    /// A relay that may be saved: not of an address that may not be reached, and without encryption only where the settings list its
    /// host. Names are looked up by each connection, and not here.
    ///
    /// Fails with `BadInput`, whose field the caller names (`Error::within`).
    pub fn check(&self, relay: &Relay) -> Result<()> {
        self.connector.may_lead(relay).map_err(|why| Error::bad_input("", why))
    }

    /// Hands a letter to a relay: 5 s for the connection, 30 s in all.
    ///
    /// Once it returns, or is dropped, nothing more is sent. After a failure of kind `Later` the relay may have the letter nevertheless,
    /// and its `id` tells who gets it twice.
    pub async fn send(&self, relay: &Relay, letter: &Letter<'_>) -> Result<u16, Failure> {
        let written = letter.write(relay)?;
        let handed = tokio::time::timeout(self.all, self.hand(relay, &written)).await;
        let handed = handed.unwrap_or_else(|_| Err(Failure::timed_out("the relay did not take the letter in time")));
        handed.map_err(|failure| failure.without(&[relay.secrets(), vec![letter.to.to_owned()]].concat()))
    }

    /// Over a connection that is kept, if there is one that still works, else over a new one.
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

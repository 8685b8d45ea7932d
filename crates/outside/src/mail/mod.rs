//! Sends email by SMTP through relays that tenants configure; `egress` decides which hosts are allowed.
//!
//! The caller decides when to send and when to retry. This module formats the email, sends it over a pooled connection,
//! and classifies the relay's reply.

mod address;
mod failure;
mod language;
mod layout;
mod letter;
mod pool;
mod read_limit;
mod relay;
mod session;
/// A relay for the tests.
#[cfg(test)]
#[path = "../../../../tests/it/support/relay.rs"]
mod smtp;
#[cfg(test)]
mod tests;
mod texts;

use std::time::Duration;

use lettre::transport::smtp::client::Certificate;

use crate::egress::EgressClient;
pub use address::normalize_address;
use base::error::{Error, Result};
pub use failure::{SmtpFailure, SmtpFailureKind};
pub use layout::{EmailEntry, EmailPage, render_page};
use letter::EncodedEmail;
pub use letter::{OutgoingEmail, URL_BYTES};
use pool::SessionPool;
pub use relay::SmtpRelay;
use session::{SmtpConnector, SmtpSession};
pub use texts::MailTexts;

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
pub struct MailSender {
    connector: SmtpConnector,
    pool: SessionPool,
    all: Duration,
}

impl MailSender {
    /// Sends to hosts that `egress` allows.
    pub fn new(egress: EgressClient) -> Self {
        Self::with_roots(egress, Vec::new(), ALL)
    }

    fn with_roots(egress: EgressClient, roots: Vec<Certificate>, all: Duration) -> Self {
        Self { connector: SmtpConnector::new(egress, roots, CONNECT.min(all)), pool: SessionPool::new(IDLE), all }
    }

    /// Checks a relay before it is saved: its address must be allowed, and only hosts that the settings list may go
    /// without encryption. Names are resolved for each connection, not here.
    ///
    /// Fails with `BadInput`; the caller adds the field (`Error::with_field_prefix`).
    pub fn check_relay(&self, relay: &SmtpRelay) -> Result<()> {
        self.connector.check_address(relay).map_err(|why| Error::bad_input("", why))
    }

    /// Sends an email to a relay: 5 s to connect, 30 s in all.
    ///
    /// Sends nothing more after it returns or is dropped. After a failure of kind `Later` the relay may have accepted
    /// the email nevertheless; a recipient who gets it twice can tell by its `id`.
    pub async fn send(&self, relay: &SmtpRelay, letter: &OutgoingEmail<'_>) -> Result<u16, SmtpFailure> {
        let written = letter.encode(relay)?;
        let handed = tokio::time::timeout(self.all, self.send_encoded(relay, &written)).await;
        let handed =
            handed.unwrap_or_else(|_| Err(SmtpFailure::timed_out("the relay did not accept the email in time")));
        handed.map_err(|failure| failure.without_secrets(&[relay.secret_forms(), vec![letter.to.to_owned()]].concat()))
    }

    /// Sends over an idle connection if one still works, else over a new one.
    async fn send_encoded(&self, relay: &SmtpRelay, written: &EncodedEmail) -> Result<u16, SmtpFailure> {
        if let Some(kept) = self.pool.take(relay.pool_key()) {
            match self.send_over(relay, kept, written).await {
                Err(failure) if failure.is_closed => {}
                handed => return handed,
            }
        }
        let fresh = self.connector.open(relay).await?;
        self.send_over(relay, fresh, written).await
    }

    async fn send_over(
        &self,
        relay: &SmtpRelay,
        mut session: SmtpSession,
        written: &EncodedEmail,
    ) -> Result<u16, SmtpFailure> {
        let handed = session.send_email(written).await;
        if session.is_ready() {
            self.pool.put_back(relay.pool_key(), session);
        }
        handed
    }
}

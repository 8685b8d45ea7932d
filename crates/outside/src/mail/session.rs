//! A connection to a relay.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::time::Duration;

use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};

#[expect(deprecated, reason = "lettre has no other way to encrypt an existing connection")]
use lettre::transport::smtp::client::AsyncNetworkStream;
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::Severity;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::compat::FuturesAsyncReadCompatExt;

use super::failure::{SmtpFailure, SmtpFailureKind, SmtpStage};
use super::letter::EncodedEmail;
use super::read_limit::BoundedStream;
use super::relay::{RelayKey, SmtpEncryption, SmtpRelay};
use crate::egress::EgressClient;

/// Maximum emails per connection; relays close connections that send many.
const LETTERS: u32 = 100;
/// Maximum hosts with cached TLS settings. When full, the cache is emptied.
const HOSTS: usize = 32;
/// Time limit of `RSET` and `QUIT`.
const RESET: Duration = Duration::from_secs(2);

/// Opens connections.
pub(super) struct SmtpConnector {
    egress: EgressClient,
    /// Root certificates trusted in addition to the system's.
    roots: Vec<Certificate>,
    connect: Duration,
    /// TLS settings by host; cached, because creating them reads the system's certificates.
    tls: Mutex<HashMap<String, TlsParameters>>,
}

impl Debug for SmtpConnector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpConnector").field("egress", &self.egress).finish_non_exhaustive()
    }
}

impl SmtpConnector {
    pub fn new(egress: EgressClient, roots: Vec<Certificate>, connect: Duration) -> Self {
        Self { egress, roots, connect, tls: Mutex::default() }
    }

    /// Checks whether a relay's address is allowed; the error is worded to follow a name: `must …`. Names are not
    /// resolved.
    pub fn check_address(&self, relay: &SmtpRelay) -> Result<(), &'static str> {
        let RelayKey { host, port, encryption, .. } = relay.pool_key();
        if !self.egress.can_save_host(host, *port) {
            return Err("must not lead to a private or reserved address");
        }
        if *encryption == SmtpEncryption::None && !self.egress.is_listed(host, *port) {
            return Err("must be encrypted (tls=none only for hosts that TIDINGS_EGRESS_ALLOW lists)");
        }
        Ok(())
    }

    /// Opens a connection that is ready for emails, to the first address of the host that accepts it.
    pub async fn open(&self, relay: &SmtpRelay) -> Result<SmtpSession, SmtpFailure> {
        let door = relay.pool_key();
        self.check_address(relay)
            .map_err(|why| SmtpFailure::new(SmtpFailureKind::Refused, &format!("the relay {why}")))?;
        let addresses =
            self.egress.resolve_host(&door.host, door.port).await.map_err(|why| SmtpFailure::no_address(&why))?;
        let tls = match door.encryption {
            SmtpEncryption::None => None,
            _ => Some(self.tls_parameters(&door.host).await?),
        };
        let each = self.connect / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        let mut last = None;
        for address in addresses {
            match self.connect(SocketAddr::new(address, door.port), each, door, tls.clone()).await {
                Ok(session) => return Ok(session),
                Err(failure) => last = Some(failure),
            }
        }
        Err(last
            .unwrap_or_else(|| SmtpFailure::new(SmtpFailureKind::Later, "the host is not found: it has no address")))
    }

    async fn connect(
        &self,
        at: SocketAddr,
        within: Duration,
        door: &RelayKey,
        tls: Option<TlsParameters>,
    ) -> Result<SmtpSession, SmtpFailure> {
        let hello = ClientId::Domain(door.hello.clone());
        let (at_once, later) = if door.encryption == SmtpEncryption::Always { (tls, None) } else { (None, tls) };
        let stream = timeout(within, connect_stream(at, at_once)).await;
        let stream = stream.map_err(|_| SmtpFailure::not_connected("the connection took too long"))??;
        let smtp = AsyncSmtpConnection::connect_with_transport(stream, &hello).await;
        let mut smtp = smtp.map_err(failure_at(SmtpStage::Greeting))?;
        if let Some(tls) = later
            && (door.encryption == SmtpEncryption::Required || smtp.can_starttls())
        {
            smtp.starttls(tls, &hello).await.map_err(failure_at(SmtpStage::Encryption))?;
        }
        if let Some((name, password)) = &door.login {
            let login = Credentials::new(name.clone(), password.clone());
            let answer =
                smtp.auth(&[Mechanism::Plain, Mechanism::Login], &login).await.map_err(failure_at(SmtpStage::Login))?;
            // A reply sent before the connection was encrypted must not count as the reply to the login.
            if !answer.has_code(235) {
                return Err(SmtpFailure::unexpected_reply());
            }
        }
        Ok(SmtpSession { smtp, letters: 0, is_ready: true })
    }

    /// The TLS settings for a host.
    async fn tls_parameters(&self, host: &str) -> Result<TlsParameters, SmtpFailure> {
        if let Some(known) = self.tls.lock().get(host) {
            return Ok(known.clone());
        }
        let mut builder = TlsParameters::builder(host.trim_matches(['[', ']']).to_owned());
        for root in &self.roots {
            builder = builder.add_root_certificate(root.clone());
        }
        // Reads files.
        let made = tokio::task::spawn_blocking(|| builder.build()).await;
        let broken = |why: String| SmtpFailure::new(SmtpFailureKind::Later, &format!("TLS cannot be set up: {why}"));
        let made = made.map_err(|why| broken(why.to_string()))?.map_err(|why| broken(why.to_string()))?;
        let mut known = self.tls.lock();
        if known.len() >= HOSTS {
            known.clear();
        }
        known.insert(host.to_owned(), made.clone());
        Ok(made)
    }
}

/// Connects, with TLS from the start if `tls` is given.
#[expect(deprecated, reason = "lettre has no other way to encrypt an existing connection")]
async fn connect_stream(at: SocketAddr, tls: Option<TlsParameters>) -> Result<Box<dyn AsyncTokioStream>, SmtpFailure> {
    let plain = TcpStream::connect(at).await.map_err(|error| SmtpFailure::not_connected(&error.to_string()))?;
    let Some(tls) = tls else { return Ok(Box::new(BoundedStream::new(plain, at))) };
    let mut encrypted = AsyncNetworkStream::use_existing_tokio1(Box::new(plain));
    encrypted.upgrade_tls(tls).await.map_err(failure_at(SmtpStage::Greeting))?;
    Ok(Box::new(BoundedStream::new(encrypted.compat(), at)))
}

fn failure_at(stage: SmtpStage) -> impl Fn(smtp::Error) -> SmtpFailure {
    move |error| SmtpFailure::from_smtp(stage, &error)
}

/// A connection that is ready for emails.
pub(super) struct SmtpSession {
    smtp: AsyncSmtpConnection,
    letters: u32,
    /// Whether it can take the next email and the relay has no state of the previous one.
    is_ready: bool,
}

impl Debug for SmtpSession {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpSession").field("letters", &self.letters).finish_non_exhaustive()
    }
}

impl SmtpSession {
    /// Whether it can send another email.
    pub fn is_ready(&self) -> bool {
        self.is_ready && self.letters < LETTERS
    }

    /// Sends an email. If the caller drops the future, it must not use the session again.
    pub async fn send_email(&mut self, written: &EncodedEmail) -> Result<u16, SmtpFailure> {
        self.is_ready = false;
        self.letters += 1;
        let handed = self.transmit(written).await;
        self.is_ready = match &handed {
            Ok(_) => true,
            Err(failure) if failure.code.is_some_and(|code| code != 421) => self.reset().await,
            Err(_) => false,
        };
        handed
    }

    /// Sends an email and returns the status of the relay's reply.
    async fn transmit(&mut self, written: &EncodedEmail) -> Result<u16, SmtpFailure> {
        let EncodedEmail { from, to, data } = written;
        let smtp = &mut self.smtp;
        smtp.command(Mail::new(Some(from.clone()), Vec::new())).await.map_err(failure_at(SmtpStage::From))?;
        smtp.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(failure_at(SmtpStage::To))?;
        let answer = smtp.command(Data).await.map_err(failure_at(SmtpStage::Data))?;
        if !answer.has_code(354) {
            return Err(SmtpFailure::unexpected_reply());
        }
        // In one write: otherwise the end would wait until the rest is acknowledged.
        let answer = smtp.command(data).await.map_err(failure_at(SmtpStage::Text))?;
        if answer.code().severity != Severity::PositiveCompletion {
            return Err(SmtpFailure::unexpected_reply());
        }
        Ok(answer.code().into())
    }

    async fn reset(&mut self) -> bool {
        matches!(timeout(RESET, self.smtp.command(Rset)).await, Ok(Ok(_)))
    }

    /// Sends `QUIT`.
    pub async fn quit(mut self) {
        // The result does not matter.
        let _ = timeout(RESET, self.smtp.abort()).await;
    }
}

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

use super::bounded::Bounded;
use super::failure::{Failure, FailureKind, Stage};
use super::letter::Written;
use super::relay::{Door, Encryption, Relay};
use crate::egress::Egress;

/// Maximum emails per connection; relays close connections that send many.
const LETTERS: u32 = 100;
/// Maximum hosts with cached TLS settings. When full, the cache is emptied.
const HOSTS: usize = 32;
/// Time limit of `RSET` and `QUIT`.
const RESET: Duration = Duration::from_secs(2);

/// Opens connections.
pub(super) struct Connector {
    egress: Egress,
    /// Root certificates trusted in addition to the system's.
    roots: Vec<Certificate>,
    connect: Duration,
    /// TLS settings by host; cached, because creating them reads the system's certificates.
    tls: Mutex<HashMap<String, TlsParameters>>,
}

impl Debug for Connector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("egress", &self.egress).finish_non_exhaustive()
    }
}

impl Connector {
    pub fn new(egress: Egress, roots: Vec<Certificate>, connect: Duration) -> Self {
        Self { egress, roots, connect, tls: Mutex::default() }
    }

    /// Checks whether a relay's address is allowed; the error is worded to follow a name: `must …`. Names are not
    /// resolved.
    pub fn may_lead(&self, relay: &Relay) -> Result<(), &'static str> {
        let Door { host, port, encryption, .. } = relay.door();
        if !self.egress.may_name(host, *port) {
            return Err("must not lead to a private or reserved address");
        }
        if *encryption == Encryption::None && !self.egress.lists(host, *port) {
            return Err("must be encrypted (tls=none only for hosts that TIDINGS_EGRESS_ALLOW lists)");
        }
        Ok(())
    }

    /// Opens a connection that is ready for emails, to the first address of the host that accepts it.
    pub async fn open(&self, relay: &Relay) -> Result<Session, Failure> {
        let door = relay.door();
        self.may_lead(relay).map_err(|why| Failure::new(FailureKind::Refused, &format!("the relay {why}")))?;
        let addresses = self.egress.addresses(&door.host, door.port).await.map_err(|why| Failure::nowhere(&why))?;
        let tls = match door.encryption {
            Encryption::None => None,
            _ => Some(self.tls(&door.host).await?),
        };
        let each = self.connect / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        let mut last = None;
        for address in addresses {
            match self.connect(SocketAddr::new(address, door.port), each, door, tls.clone()).await {
                Ok(session) => return Ok(session),
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.unwrap_or_else(|| Failure::new(FailureKind::Later, "the host is not found: it has no address")))
    }

    async fn connect(
        &self,
        at: SocketAddr,
        within: Duration,
        door: &Door,
        tls: Option<TlsParameters>,
    ) -> Result<Session, Failure> {
        let hello = ClientId::Domain(door.hello.clone());
        let (at_once, later) = if door.encryption == Encryption::Always { (tls, None) } else { (None, tls) };
        let stream = timeout(within, stream(at, at_once)).await;
        let stream = stream.map_err(|_| Failure::unconnected("the connection took too long"))??;
        let smtp = AsyncSmtpConnection::connect_with_transport(stream, &hello).await;
        let mut smtp = smtp.map_err(of(Stage::Greeting))?;
        if let Some(tls) = later
            && (door.encryption == Encryption::Required || smtp.can_starttls())
        {
            smtp.starttls(tls, &hello).await.map_err(of(Stage::Encryption))?;
        }
        if let Some((name, password)) = &door.login {
            let login = Credentials::new(name.clone(), password.clone());
            let answer = smtp.auth(&[Mechanism::Plain, Mechanism::Login], &login).await.map_err(of(Stage::Login))?;
            // A reply sent before the connection was encrypted must not count as the reply to the login.
            if !answer.has_code(235) {
                return Err(Failure::confused());
            }
        }
        Ok(Session { smtp, letters: 0, is_ready: true })
    }

    /// The TLS settings for a host.
    async fn tls(&self, host: &str) -> Result<TlsParameters, Failure> {
        if let Some(known) = self.tls.lock().get(host) {
            return Ok(known.clone());
        }
        let mut builder = TlsParameters::builder(host.trim_matches(['[', ']']).to_owned());
        for root in &self.roots {
            builder = builder.add_root_certificate(root.clone());
        }
        // Reads files.
        let made = tokio::task::spawn_blocking(|| builder.build()).await;
        let broken = |why: String| Failure::new(FailureKind::Later, &format!("TLS cannot be set up: {why}"));
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
async fn stream(at: SocketAddr, tls: Option<TlsParameters>) -> Result<Box<dyn AsyncTokioStream>, Failure> {
    let plain = TcpStream::connect(at).await.map_err(|error| Failure::unconnected(&error.to_string()))?;
    let Some(tls) = tls else { return Ok(Box::new(Bounded::new(plain, at))) };
    let mut encrypted = AsyncNetworkStream::use_existing_tokio1(Box::new(plain));
    encrypted.upgrade_tls(tls).await.map_err(of(Stage::Greeting))?;
    Ok(Box::new(Bounded::new(encrypted.compat(), at)))
}

fn of(stage: Stage) -> impl Fn(smtp::Error) -> Failure {
    move |error| Failure::of(stage, &error)
}

/// A connection that is ready for emails.
pub(super) struct Session {
    smtp: AsyncSmtpConnection,
    letters: u32,
    /// Whether it can take the next email and the relay has no state of the previous one.
    is_ready: bool,
}

impl Debug for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("letters", &self.letters).finish_non_exhaustive()
    }
}

impl Session {
    /// Whether it can send another email.
    pub fn is_ready(&self) -> bool {
        self.is_ready && self.letters < LETTERS
    }

    /// Sends an email. If the caller drops the future, it must not use the session again.
    pub async fn hand(&mut self, written: &Written) -> Result<u16, Failure> {
        self.is_ready = false;
        self.letters += 1;
        let handed = self.say(written).await;
        self.is_ready = match &handed {
            Ok(_) => true,
            Err(failure) if failure.code.is_some_and(|code| code != 421) => self.reset().await,
            Err(_) => false,
        };
        handed
    }

    /// Sends an email and returns the status of the relay's reply.
    async fn say(&mut self, written: &Written) -> Result<u16, Failure> {
        let Written { from, to, data } = written;
        let smtp = &mut self.smtp;
        smtp.command(Mail::new(Some(from.clone()), Vec::new())).await.map_err(of(Stage::From))?;
        smtp.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(of(Stage::To))?;
        let answer = smtp.command(Data).await.map_err(of(Stage::Data))?;
        if !answer.has_code(354) {
            return Err(Failure::confused());
        }
        // In one write: otherwise the end would wait until the rest is acknowledged.
        let answer = smtp.command(data).await.map_err(of(Stage::Text))?;
        if answer.code().severity != Severity::PositiveCompletion {
            return Err(Failure::confused());
        }
        Ok(answer.code().into())
    }

    async fn reset(&mut self) -> bool {
        matches!(timeout(RESET, self.smtp.command(Rset)).await, Ok(Ok(_)))
    }

    /// Sends `QUIT`.
    pub async fn end(mut self) {
        // The result does not matter.
        let _ = timeout(RESET, self.smtp.abort()).await;
    }
}

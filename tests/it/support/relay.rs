//! A local SMTP relay that stores the emails it receives and replies as a test tells it to.
//!
//! The unit tests of `src/mail` use it, too.

use std::io;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// An accepted email.
#[derive(Clone, Debug)]
pub struct Got {
    pub from: String,
    pub to: String,
    /// Headers and body as received, without SMTP dot-stuffing.
    pub raw: String,
}

impl Got {
    /// Returns a header as one line, still encoded.
    pub fn header(&self, name: &str) -> Option<String> {
        let (head, _) = self.raw.split_once("\r\n\r\n").unwrap();
        let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let of_name = |line: &str| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        head.lines().find_map(of_name)
    }
}

/// The SMTP steps that a reply can be set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The new connection.
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Mail,
    Rcpt,
    Data,
    /// The dot that ends an email.
    Text,
    Rset,
    Quit,
}

/// The relay's reply to a step.
#[derive(Clone, Debug)]
pub enum Reply {
    /// One or more lines separated by CRLF, such as `550 5.1.1 no such user`.
    Says(String),
    /// Closes the connection.
    Closes,
    /// Never replies.
    Hangs,
}

impl Reply {
    pub fn says(line: &str) -> Self {
        Self::Says(line.to_owned())
    }
}

/// How clients connect to the relay.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// How the relay encrypts: after `STARTTLS`, from the beginning, or not at all.
    pub encryption: Option<Encryption>,
    /// The name and password that the relay requires, if any.
    pub login: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    Offered,
    FromTheBeginning,
}

struct Rule {
    asks: Asks,
    /// The recipient that the rule applies to; `None` for all.
    to: Option<String>,
    reply: Reply,
    /// Whether the rule applies only once.
    is_used_up: bool,
}

#[derive(Default)]
struct Shared {
    manner: Manner,
    got: Mutex<Vec<Got>>,
    rules: Mutex<Vec<Rule>>,
    connections: Mutex<usize>,
}

/// A running relay.
pub struct Relay {
    pub port: u16,
    shared: Arc<Shared>,
    closing: watch::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Relay {
    /// Starts a relay that accepts everything, without encryption or login.
    pub async fn start() -> Self {
        Self::with(Manner::default()).await
    }

    pub async fn with(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { manner, ..Shared::default() });
        let (closing, closed) = watch::channel(());
        let serving = tokio::spawn({
            let shared = shared.clone();
            async move {
                while let Ok((connection, _)) = listener.accept().await {
                    *shared.connections.lock() += 1;
                    let (shared, mut closed) = (shared.clone(), closed.clone());
                    closed.mark_unchanged();
                    tokio::spawn(async move {
                        tokio::select! {
                            _ = closed.changed() => {}
                            _ = serve(connection, &shared) => {}
                        }
                    });
                }
            }
        });
        Self { port, shared, closing, serving }
    }

    /// The relay's URL for clients that do not encrypt.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// The accepted emails, in order.
    pub fn got(&self) -> Vec<Got> {
        self.shared.got.lock().clone()
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        *self.shared.connections.lock()
    }

    /// Sets the reply to a step. If several rules match, the latest wins.
    pub fn on(&self, asks: Asks, reply: Reply) {
        self.rule(asks, None, reply, false);
    }

    /// Sets the reply to a step for one time.
    pub fn once(&self, asks: Asks, reply: Reply) {
        self.rule(asks, None, reply, true);
    }

    /// Sets the reply for emails to one recipient; works for `Rcpt`, `Data` and `Text`.
    pub fn on_letters_to(&self, to: &str, asks: Asks, reply: Reply) {
        self.rule(asks, Some(to.to_owned()), reply, false);
    }

    /// Removes all rules.
    pub fn be_kind(&self) {
        self.shared.rules.lock().clear();
    }

    /// Closes all open connections.
    pub fn close_connections(&self) {
        self.closing.send_replace(());
    }

    fn rule(&self, asks: Asks, to: Option<String>, reply: Reply, is_used_up: bool) {
        self.shared.rules.lock().push(Rule { asks, to, reply, is_used_up });
    }
}

trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// One connection and its SMTP state.
struct Talk<'a> {
    wire: BufReader<Box<dyn Wire>>,
    shared: &'a Shared,
    is_encrypted: bool,
    is_known: bool,
    from: String,
    to: String,
}

/// Serves one connection until either side closes it.
async fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let is_encrypted = shared.manner.encryption == Some(Encryption::FromTheBeginning);
    let wire: Box<dyn Wire> =
        if is_encrypted { Box::new(acceptor().accept(connection).await?) } else { Box::new(connection) };
    let wire = BufReader::new(wire);
    let is_known = shared.manner.login.is_none();
    let mut talk = Talk { wire, shared, is_encrypted, is_known, from: String::new(), to: String::new() };
    talk.answer(Asks::Greeting, "220 relay.example ESMTP").await?;
    loop {
        let line = talk.line().await?;
        let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
        match command {
            "EHLO" => talk.hello().await?,
            "STARTTLS" => {
                talk.answer(Asks::StartTls, "220 go ahead").await?;
                let plain = talk.wire.into_inner();
                talk.wire = BufReader::new(Box::new(acceptor().accept(plain).await?));
                talk.is_encrypted = true;
            }
            "AUTH" => talk.login(argument).await?,
            "MAIL" if !talk.is_known => talk.write("530 5.7.0 authentication required").await?,
            "MAIL" => {
                talk.from = between(argument);
                talk.answer(Asks::Mail, "250 2.1.0 ok").await?;
            }
            "RCPT" => {
                talk.to = between(argument);
                talk.answer(Asks::Rcpt, "250 2.1.5 ok").await?;
            }
            "DATA" => talk.data().await?,
            "RSET" => talk.answer(Asks::Rset, "250 ok").await?,
            "QUIT" => {
                talk.answer(Asks::Quit, "221 bye").await?;
                return Ok(());
            }
            _ => talk.write("502 5.5.2 no such command").await?,
        }
    }
}

impl Talk<'_> {
    async fn hello(&mut self) -> io::Result<()> {
        let mut says = vec!["relay.example", "8BITMIME"];
        if self.shared.manner.encryption == Some(Encryption::Offered) && !self.is_encrypted {
            says.push("STARTTLS");
        }
        if self.shared.manner.login.is_some() {
            says.push("AUTH PLAIN LOGIN");
        }
        let mut usual: Vec<String> = says.iter().map(|of| format!("250-{of}")).collect();
        usual.push("250 SIZE 10485760".to_owned());
        self.answer(Asks::Ehlo, &usual.join("\r\n")).await
    }

    async fn login(&mut self, argument: &str) -> io::Result<()> {
        let told = argument.strip_prefix("PLAIN ").and_then(|told| STANDARD.decode(told).ok());
        let login = self.shared.manner.login;
        let is_right = login.is_some_and(|(name, password)| told == Some(format!("\0{name}\0{password}").into_bytes()));
        self.is_known |= is_right;
        let usual = if is_right { "235 2.7.0 welcome" } else { "535 5.7.8 who are you?" };
        self.answer(Asks::Auth, usual).await
    }

    async fn data(&mut self) -> io::Result<()> {
        if !self.answer_is_usual(Asks::Data, "354 go ahead").await? {
            return Ok(());
        }
        let mut raw = String::new();
        loop {
            let line = self.line().await?;
            if line == "." {
                break;
            }
            raw.push_str(line.strip_prefix('.').unwrap_or(&line));
            raw.push_str("\r\n");
        }
        // Store the email before the client gets a reply, so that a test that waits for the reply finds it.
        let number = {
            let mut got = self.shared.got.lock();
            got.push(Got { from: self.from.clone(), to: self.to.clone(), raw });
            got.len()
        };
        let is_taken = self.answer_is_usual(Asks::Text, "250 2.0.0 taken").await;
        if !matches!(is_taken, Ok(true)) {
            self.shared.got.lock().remove(number - 1);
        }
        is_taken.map(|_| ())
    }

    async fn answer(&mut self, asks: Asks, usual: &str) -> io::Result<()> {
        self.answer_is_usual(asks, usual).await.map(|_| ())
    }

    /// Sends the reply and returns whether no rule changed it.
    async fn answer_is_usual(&mut self, asks: Asks, usual: &str) -> io::Result<bool> {
        let reply = {
            let mut rules = self.shared.rules.lock();
            let fits = |rule: &Rule| rule.asks == asks && rule.to.as_ref().is_none_or(|to| *to == self.to);
            let place = rules.iter().rposition(fits);
            place.map(
                |place| if rules[place].is_used_up { rules.remove(place).reply } else { rules[place].reply.clone() },
            )
        };
        match reply {
            None => self.write(usual).await.map(|()| true),
            Some(Reply::Says(line)) => self.write(&line).await.map(|()| false),
            Some(Reply::Closes) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Reply::Hangs) => std::future::pending().await,
        }
    }

    async fn write(&mut self, line: &str) -> io::Result<()> {
        self.wire.write_all(format!("{line}\r\n").as_bytes()).await?;
        self.wire.flush().await
    }

    /// Reads a line without its CRLF.
    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.wire.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn between(argument: &str) -> String {
    argument.split_once('<').and_then(|(_, rest)| rest.split_once('>')).unwrap().0.to_owned()
}

/// TLS with a certificate for `localhost` and `127.0.0.1` that clients trusting `ROOT` accept.
fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("relay/relay.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("relay/relay.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

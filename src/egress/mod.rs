//! Requests to addresses that users of the API have named: the one place that decides where they may lead.
//!
//! Whoever may name an address could otherwise have the server ask its own network, and read the answer (CWE-918). A name is looked up
//! here, its private addresses are left out, and the connection is made to what is left, so that a name that leads elsewhere a moment
//! later gains nothing by it. An address that stands in the URL itself nobody looks up; it is checked before each request.
//! Redirections are not followed, and no proxy is asked, which would look names up by itself.

mod answer;
mod gate;
mod lookup;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect, retry};

use crate::config::EgressConfig;
use crate::error::{Error, Result};
pub use answer::{Answer, Failure, FailureKind};
use gate::Gate;
use lookup::{Checked, Lookup, System, Together};

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(20);
/// How many connections are kept to one host that nobody uses: as many as a webhook's endpoint has requests under way. With 4 of them, three
/// requests of ten to one that answers at once had to make a new one.
const IDLE_CONNECTIONS: usize = 16;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For the name to be looked up and the connection to be made.
    connect: Duration,
    /// For all of it, with the end of the answer.
    all: Duration,
}

impl Patience {
    const USUAL: Self = Self { connect: Duration::from_secs(5), all: Duration::from_secs(15) };
    const BRIEF: Self = Self { all: Duration::from_secs(8), ..Self::USUAL };
}

/// Sends requests to addresses of others. Copies share what they keep.
#[derive(Clone, Debug)]
pub struct Egress {
    gate: Arc<Gate>,
    lookup: Arc<dyn Lookup>,
    patience: Patience,
    /// One for each port that the settings list by itself, since names are looked up without their port, and one for all others.
    /// Each is made by its first request: it reads all certificates that the system trusts.
    clients: Arc<Mutex<HashMap<u16, Client>>>,
}

impl Egress {
    /// By the settings, and with names as the system knows them.
    ///
    /// Fails with `Config` where the settings allow what may never be.
    pub fn new(config: &EgressConfig) -> Result<Self> {
        Self::with(config, Arc::new(System), Patience::USUAL)
    }

    /// The same for what answers at once where it is well: a request has 8 s in all.
    pub fn brief(config: &EgressConfig) -> Result<Self> {
        Self::with(config, Arc::new(System), Patience::BRIEF)
    }

    fn with(config: &EgressConfig, lookup: Arc<dyn Lookup>, patience: Patience) -> Result<Self> {
        let gate = Arc::new(Gate::new(config)?);
        let lookup = Arc::new(Together::over(lookup));
        Ok(Self { gate, lookup, patience, clients: Arc::default() })
    }

    /// Fails with `Config` where no request can be sent: the system trusts no certificate, say.
    pub fn examine(&self) -> Result<()> {
        self.client(443).map(drop).map_err(|failure| Error::Config(failure.message))
    }

    /// Names as they may be connected to at a port.
    fn names(&self, port: u16) -> Checked {
        Checked { gate: self.gate.clone(), port: self.gate.class(port), lookup: self.lookup.clone() }
    }

    fn client(&self, port: u16) -> Result<Client, Failure> {
        let class = self.gate.class(port);
        let mut made = self.clients.lock();
        if let Some(client) = made.get(&class) {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .dns_resolver(self.names(port))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            // Whoever sends knows what to repeat, and when.
            .retry(retry::never())
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(self.patience.connect)
            .timeout(self.patience.all)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .user_agent(concat!("Tidings/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Failure::of)
            .inspect_err(|failure| tracing::error!(cause = failure.message, "nothing can be sent to anybody"))?;
        made.insert(class, client.clone());
        Ok(client)
    }

    /// A URL that may be saved: https, or http where the settings list its host, of at most 2,048 bytes, without user name, password
    /// and fragment, and not of an address that may not be reached. Names are looked up by each request, and not here.
    ///
    /// Fails with `BadInput`, whose field the caller names (`Error::within`).
    pub fn check(&self, url: &str) -> Result<Url> {
        self.gate.admit(url).map_err(|why| Error::bad_input("", why))
    }

    /// The addresses of a host that may be connected to at a port, at least one, in the order to try them: for what is not HTTP. The
    /// caller connects to these, and does not look the name up again. It takes 5 s at most.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, Failure> {
        if let Some(address) = literal(host) {
            let is_let = self.gate.lets(None, address, port);
            let why = "the address is private or reserved, and the settings of the server do not list it";
            return if is_let { Ok(vec![address]) } else { Err(Failure::new(FailureKind::Refused, why)) };
        }
        match tokio::time::timeout(self.patience.connect, self.names(port).addresses(host)).await {
            Ok(found) => found.map_err(|cause| Failure::nowhere(&cause)),
            Err(_) => Err(Failure::new(FailureKind::TimedOut, "the host was not found in time")),
        }
    }

    /// Whether a host may be named with a port: it is a name, or an address that may be reached.
    pub fn may_name(&self, host: &str, port: u16) -> bool {
        literal(host).is_none_or(|address| self.gate.lets(None, address, port))
    }

    /// Whether the settings list a host at a port, so that what is sent to it need not be encrypted.
    pub fn lists(&self, host: &str, port: u16) -> bool {
        self.gate.lists(host, port)
    }

    /// Sends a body, and waits for the answer: 5 s for the connection, 15 s in all, or 8 s.
    ///
    /// Once it returns, or is dropped, nothing more is sent. It is never sent twice by itself.
    pub async fn post(&self, url: &str, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<Answer, Failure> {
        let refused = |why: String| Failure::new(FailureKind::Refused, &why);
        let url = self.gate.admit(url).map_err(|why| refused(format!("the URL {why}")))?;
        let headers = fields(headers).map_err(refused)?;
        let client = self.client(url.port_or_known_default().unwrap_or_default())?;
        let answer = client.post(url).headers(headers).body(body).send().await.map_err(Failure::of)?;
        Ok(Answer::read(answer).await)
    }
}

/// An address, as URLs write it.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// What may be shown of a URL to those who may not see all of it: scheme, host and port; nothing where it is none.
pub fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Headers as they are written; what is wrong, without the value, where one would end its line.
fn fields(headers: &[(&'static str, String)]) -> Result<HeaderMap, String> {
    let field = |(name, value): &(&'static str, String)| {
        let value = HeaderValue::from_str(value);
        match (name.parse::<HeaderName>(), value) {
            (Ok(name), Ok(value)) => Ok((name, value)),
            _ => Err(format!("the header {name:?} has characters that no header may have")),
        }
    };
    headers.iter().map(field).collect()
}

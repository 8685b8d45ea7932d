//! Requests to URLs that users of the API supply; this module decides which destinations are allowed.
//!
//! Without it, a user could make the server send requests into its own network and read the response (SSRF, CWE-918).
//! The server resolves a name, drops private addresses, and connects to one of the rest, so that a later DNS change has
//! no effect. Addresses in the URL itself are checked before each request. Redirects are not followed, and no proxy is
//! used, because a proxy would resolve names itself.

mod address_rules;
mod resolver;
mod response;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect, retry};

use address_rules::EgressPolicy;
use base::config::EgressConfig;
use base::error::{Error, Result};
use resolver::{HostLookup, PolicyResolver, SharedLookup, SystemLookup};
pub use response::{EgressResponse, RequestFailure, RequestFailureKind};

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(20);
/// Maximum idle connections per host: as many as a webhook endpoint has requests in flight. With 4, three of ten
/// requests to an endpoint that responds at once had to open a new connection.
const IDLE_CONNECTIONS: usize = 16;

/// Time limits.
#[derive(Clone, Copy, Debug)]
struct RequestTimeouts {
    /// For name resolution and connecting.
    connect: Duration,
    /// For the whole request, until the end of the response.
    all: Duration,
}

impl RequestTimeouts {
    const USUAL: Self = Self { connect: Duration::from_secs(5), all: Duration::from_secs(15) };
    const BRIEF: Self = Self { all: Duration::from_secs(8), ..Self::USUAL };
}

/// Sends requests to user-supplied URLs. Clones share the clients.
#[derive(Clone, Debug)]
pub struct EgressClient {
    gate: Arc<EgressPolicy>,
    lookup: Arc<dyn HostLookup>,
    patience: RequestTimeouts,
    /// One client for each port that an entry is limited to, because names are resolved without their port, and one for
    /// all other ports. A client is created at its first request, because it loads all certificates that the system
    /// trusts.
    clients: Arc<Mutex<HashMap<u16, Client>>>,
}

impl EgressClient {
    /// Creates it with the system's resolver.
    ///
    /// Fails with `Config` if the settings allow a network that is never allowed.
    pub fn new(config: &EgressConfig) -> Result<Self> {
        Self::with_lookup(config, Arc::new(SystemLookup), RequestTimeouts::USUAL)
    }

    /// The same for services that should respond at once: a request may take 8 s in all.
    pub fn with_short_timeout(config: &EgressConfig) -> Result<Self> {
        Self::with_lookup(config, Arc::new(SystemLookup), RequestTimeouts::BRIEF)
    }

    fn with_lookup(config: &EgressConfig, lookup: Arc<dyn HostLookup>, patience: RequestTimeouts) -> Result<Self> {
        let gate = Arc::new(EgressPolicy::new(config)?);
        let lookup = Arc::new(SharedLookup::new(lookup));
        Ok(Self { gate, lookup, patience, clients: Arc::default() })
    }

    /// Fails with `Config` if no request can be sent, for example because the system trusts no certificate.
    pub fn check_client(&self) -> Result<()> {
        self.http_client(443).map(drop).map_err(|failure| Error::Config(failure.message))
    }

    /// A resolver for connections to a port.
    fn resolver(&self, port: u16) -> PolicyResolver {
        PolicyResolver { gate: self.gate.clone(), port: self.gate.port_class(port), lookup: self.lookup.clone() }
    }

    fn http_client(&self, port: u16) -> Result<Client, RequestFailure> {
        let class = self.gate.port_class(port);
        let mut made = self.clients.lock();
        if let Some(client) = made.get(&class) {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .dns_resolver(self.resolver(port))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            // The caller decides what to retry, and when.
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
            .map_err(RequestFailure::from_reqwest)
            .inspect_err(|failure| tracing::error!(cause = failure.message, "deliveries cannot be sent"))?;
        made.insert(class, client.clone());
        Ok(client)
    }

    /// Checks a URL before it is saved: https, or http if the settings list its host; at most 2,048 bytes; no user
    /// name, password or fragment; no forbidden address. Names are resolved at each request, not here.
    ///
    /// Fails with `BadInput`; the caller adds the field (`Error::with_field_prefix`).
    pub fn check_url(&self, url: &str) -> Result<Url> {
        self.gate.parse_url(url).map_err(|why| Error::bad_input("", why))
    }

    /// The allowed addresses of a host at a port, at least one, in the order to try them; for protocols other than
    /// HTTP. The caller must connect to these and not resolve the name again. Takes at most 5 s.
    pub async fn resolve_host(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, RequestFailure> {
        if let Some(address) = parse_address(host) {
            let is_let = self.gate.is_permitted(None, address, port);
            let why = "the address is private or reserved, and TIDINGS_EGRESS_ALLOW does not list it";
            return if is_let { Ok(vec![address]) } else { Err(RequestFailure::new(RequestFailureKind::Refused, why)) };
        }
        match tokio::time::timeout(self.patience.connect, self.resolver(port).allowed_addresses(host)).await {
            Ok(found) => found.map_err(|cause| RequestFailure::no_address(&cause)),
            Err(_) => Err(RequestFailure::new(RequestFailureKind::TimedOut, "the host was not found in time")),
        }
    }

    /// Whether a host may be saved with a port: it is a name or an allowed address.
    pub fn can_save_host(&self, host: &str, port: u16) -> bool {
        parse_address(host).is_none_or(|address| self.gate.is_permitted(None, address, port))
    }

    /// Whether the settings list a host at a port, so that requests to it need no encryption.
    pub fn is_listed(&self, host: &str, port: u16) -> bool {
        self.gate.is_listed(host, port)
    }

    /// Sends a body and waits for the response: 5 s to connect, and 15 s in all, or 8 s if created by
    /// `with_short_timeout`.
    ///
    /// Sends nothing more after it returns or is dropped, and never retries.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<EgressResponse, RequestFailure> {
        let refused = |why: String| RequestFailure::new(RequestFailureKind::Refused, &why);
        let url = self.gate.parse_url(url).map_err(|why| refused(format!("the URL {why}")))?;
        let headers = header_map(headers).map_err(refused)?;
        let client = self.http_client(url.port_or_known_default().unwrap_or_default())?;
        let answer = client.post(url).headers(headers).body(body).send().await.map_err(RequestFailure::from_reqwest)?;
        Ok(EgressResponse::read_response(answer).await)
    }
}

/// Parses an address as URLs write it.
fn parse_address(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// The part of a URL that is safe to show: scheme, host and port. Empty for an invalid URL.
pub fn safe_origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Parses header values. The error names an invalid header without its value.
fn header_map(headers: &[(&'static str, String)]) -> Result<HeaderMap, String> {
    let field = |(name, value): &(&'static str, String)| {
        let value = HeaderValue::from_str(value);
        match (name.parse::<HeaderName>(), value) {
            (Ok(name), Ok(value)) => Ok((name, value)),
            _ => Err(format!("the header {name:?} has characters that headers may not have")),
        }
    };
    headers.iter().map(field).collect()
}

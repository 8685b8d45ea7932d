//! Name resolution that returns only addresses that requests may reach.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::watch;

use super::address_rules::EgressPolicy;

/// Resolves names.
pub(super) trait HostLookup: Debug + Send + Sync {
    /// All addresses, in the order to try them.
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
#[derive(Debug)]
pub(super) struct SystemLookup;

impl HostLookup for SystemLookup {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The result of a lookup.
type LookupResult = Result<Vec<IpAddr>, Arc<io::Error>>;

/// Shares one lookup among all concurrent requests for a name.
///
/// The system occupies a thread until a lookup ends, even after its caller has gone: names with unresponsive DNS
/// servers could otherwise use up all threads.
#[derive(Debug)]
pub(super) struct SharedLookup {
    lookup: Arc<dyn HostLookup>,
    under_way: Arc<Mutex<HashMap<String, watch::Receiver<Option<LookupResult>>>>>,
}

impl SharedLookup {
    pub fn new(lookup: Arc<dyn HostLookup>) -> Self {
        Self { lookup, under_way: Arc::default() }
    }

    fn join_lookup(&self, name: String) -> watch::Receiver<Option<LookupResult>> {
        let mut under_way = self.under_way.lock();
        if let Some(told) = under_way.get(&name) {
            return told.clone();
        }
        let (tell, told) = watch::channel(None);
        under_way.insert(name.clone(), told.clone());
        let (asked, under_way) = (self.lookup.lookup_addresses(name.clone()), self.under_way.clone());
        tokio::spawn(async move {
            let found = asked.await.map_err(Arc::new);
            under_way.lock().remove(&name);
            tell.send_replace(Some(found));
        });
        told
    }
}

impl HostLookup for SharedLookup {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut told = self.join_lookup(name);
        Box::pin(async move {
            let found = told.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            let found = found.clone().unwrap_or_else(|| Ok(Vec::new()));
            found.map_err(|error| io::Error::new(error.kind(), error.to_string()))
        })
    }
}

/// Why a name has no usable address.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAddress {
    /// The name is unknown, or its DNS servers do not respond.
    #[error("the host is not found: {0}")]
    Unknown(io::Error),
    /// The name has addresses, but none of them is allowed.
    #[error("the host has only private or reserved addresses, which TIDINGS_EGRESS_ALLOW does not list")]
    Refused,
}

/// Resolves names to allowed addresses. The HTTP client connects to these and to no others.
#[derive(Clone, Debug)]
pub(super) struct PolicyResolver {
    pub gate: Arc<EgressPolicy>,
    /// The port of the connections, or 0 ([`EgressPolicy::class`]).
    pub port: u16,
    pub lookup: Arc<dyn HostLookup>,
}

impl PolicyResolver {
    /// The allowed addresses of a name, at least one.
    pub async fn allowed_addresses(&self, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
        let mut found = self.lookup.lookup_addresses(name.to_owned()).await.map_err(NoAddress::Unknown)?;
        if found.is_empty() {
            return Err(NoAddress::Unknown(io::Error::other("it has no address")));
        }
        found.retain(|address| self.gate.is_permitted(Some(name), *address, self.port));
        if found.is_empty() { Err(NoAddress::Refused) } else { Ok(found) }
    }
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = self.clone();
        Box::pin(async move {
            let found = checked.allowed_addresses(name.as_str()).await?;
            // Port 0 means the port of the URL.
            let all: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(all)
        })
    }
}

//! Names and their addresses, of which only those that may be reached are handed on, to be connected to.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::watch;

use super::gate::Gate;

/// Who knows the addresses of a name.
pub(super) trait Lookup: Debug + Send + Sync {
    /// All of them, in the order in which they should be tried.
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system, which asks its files and servers as for every other program.
#[derive(Debug)]
pub(super) struct System;

impl Lookup for System {
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// What was found, or why nothing was.
type Found = Result<Vec<IpAddr>, Arc<io::Error>>;

/// Asks once at a time for each name, whoever else asks for it meanwhile.
///
/// The system takes a thread for each question until there is an answer, also where nobody waits for it any more: names that nobody answers
/// for would have all threads that there are.
#[derive(Debug)]
pub(super) struct Together {
    lookup: Arc<dyn Lookup>,
    under_way: Arc<Mutex<HashMap<String, watch::Receiver<Option<Found>>>>>,
}

impl Together {
    pub fn over(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup, under_way: Arc::default() }
    }

    fn ask(&self, name: String) -> watch::Receiver<Option<Found>> {
        let mut under_way = self.under_way.lock();
        if let Some(told) = under_way.get(&name) {
            return told.clone();
        }
        let (tell, told) = watch::channel(None);
        under_way.insert(name.clone(), told.clone());
        let (asked, under_way) = (self.lookup.addresses(name.clone()), self.under_way.clone());
        tokio::spawn(async move {
            let found = asked.await.map_err(Arc::new);
            under_way.lock().remove(&name);
            tell.send_replace(Some(found));
        });
        told
    }
}

impl Lookup for Together {
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut told = self.ask(name);
        Box::pin(async move {
            let found = told.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            let found = found.clone().unwrap_or_else(|| Ok(Vec::new()));
            found.map_err(|error| io::Error::new(error.kind(), error.to_string()))
        })
    }
}

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAddress {
    /// Nobody knows it, or who would is away.
    #[error("the host is not found: {0}")]
    Unknown(io::Error),
    /// It has addresses, and none of them may be reached.
    #[error("the host has no address but private or reserved ones, which the settings of the server do not list")]
    Refused,
}

/// Looks names up, and hands on only what may be reached. The HTTP client connects to that and to nothing else.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub gate: Arc<Gate>,
    /// Of connections to this port, or to those of its class ([`Gate::class`]).
    pub port: u16,
    pub lookup: Arc<dyn Lookup>,
}

impl Checked {
    /// The addresses of a name that may be reached, of which there is at least one.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
        let mut found = self.lookup.addresses(name.to_owned()).await.map_err(NoAddress::Unknown)?;
        if found.is_empty() {
            return Err(NoAddress::Unknown(io::Error::other("it has no address")));
        }
        found.retain(|address| self.gate.lets(Some(name), *address, self.port));
        if found.is_empty() { Err(NoAddress::Refused) } else { Ok(found) }
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = self.clone();
        Box::pin(async move {
            let found = checked.addresses(name.as_str()).await?;
            // Port 0 stands for the one of the URL.
            let all: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(all)
        })
    }
}

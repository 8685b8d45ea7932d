//! Limits the number of connections, in total and by network.

use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::files;
use crate::app::App;
use crate::http::key_counters::KeyCounts;
use model::network::CallerNetwork;

/// The most connections to the listener for health and metrics.
const ADMIN_CONNECTIONS: usize = 64;

/// Between log lines about connections that cannot be accepted.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Counts the connections of a listener.
#[derive(Debug)]
pub struct ConnectionLimiter {
    app: Arc<App>,
    max: usize,
    is_admin: bool,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    count: usize,
    by_network: KeyCounts<CallerNetwork>,
    logged_at: Option<Instant>,
}

/// Room for one connection, until it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    network: Option<CallerNetwork>,
}

impl ConnectionLimiter {
    /// For the public listener: `TIDINGS_MAX_CONNECTIONS`, or fewer if the limit of open files leaves room for fewer.
    pub fn new_public(app: &Arc<App>) -> Arc<Self> {
        let asked = app.config.connections.max_connections;
        let max = files::room(asked, app.config.database.connections);
        if max < asked {
            tracing::warn!(max, asked, "the limit of open files leaves room for fewer connections");
        }
        Self::new(app, max as usize, false)
    }

    /// For the listener of health and metrics, which has no limit by network.
    pub fn new_admin(app: &Arc<App>) -> Arc<Self> {
        Self::new(app, ADMIN_CONNECTIONS, true)
    }

    fn new(app: &Arc<App>, max: usize, is_admin: bool) -> Arc<Self> {
        Arc::new(Self { app: app.clone(), max, is_admin, open: Mutex::default() })
    }

    pub fn app(&self) -> &App {
        &self.app
    }

    /// `None` if the server or the network has its maximum. The caller then closes the connection at once.
    pub fn acquire(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let network = self.counted_network(address);
        let max_per_network = self.app.config.connections.connections_per_address as usize;
        let mut open = self.open.lock();
        let is_network_full = network.is_some_and(|network| open.by_network.get(&network) >= max_per_network);
        if is_network_full || open.count >= self.max {
            self.app.metrics.record_refused_connection(if is_network_full { "address" } else { "full" });
            return None;
        }
        open.count += 1;
        if let Some(network) = network {
            open.by_network.add(network, 1);
        }
        drop(open);
        self.app.metrics.http_connections.inc();
        Some(ConnectionPermit { limiter: self.clone(), network })
    }

    /// The network to count by. `None` for a proxy, which carries the connections of many clients.
    fn counted_network(&self, address: IpAddr) -> Option<CallerNetwork> {
        let is_proxy = self.app.config.connections.proxies.contains(address.to_canonical());
        (!self.is_admin && !is_proxy).then(|| CallerNetwork::from_address(address))
    }

    /// Counts a connection that could not be accepted, mostly for lack of file descriptors. Logs once a minute.
    pub fn record_failed_accept(&self, error: &std::io::Error) {
        self.app.metrics.record_refused_connection("accept");
        let now = Instant::now();
        let mut open = self.open.lock();
        if open.logged_at.is_none_or(|logged_at| now - logged_at > LOG_INTERVAL) {
            open.logged_at = Some(now);
            tracing::error!(%error, "connections cannot be accepted");
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.limiter.open.lock();
        open.count -= 1;
        if let Some(network) = &self.network {
            open.by_network.remove(network, 1);
        }
        drop(open);
        self.limiter.app.metrics.http_connections.dec();
    }
}

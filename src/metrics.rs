//! What the server counts of itself, for Prometheus.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// The figures of one server, which whatever they are about sets; none of them names a tenant or a user.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Open sockets and event streams.
    pub sessions: Gauge,
    /// Subscriptions in them.
    pub subscriptions: Gauge,
    /// New items handed to subscriptions.
    pub items_delivered: Counter,
    /// Overviews handed to subscriptions.
    pub overviews_delivered: Counter,
    /// Views handed to subscriptions.
    pub views_delivered: Counter,
    /// Subscriptions that were ended because their client read too slowly.
    pub slow_readers: Counter,
    /// 1 while the notices of other nodes arrive, 0 while they do not; 1 where there are no other nodes.
    pub bus_connected: Gauge,
    /// Seconds that the newest notice of our own took there and back.
    pub bus_lag: Gauge<f64, AtomicU64>,
    /// Messages with notices that this node sent to the others.
    pub bus_sent: Counter,
    /// Notices that other nodes sent and that did not arrive.
    pub bus_lost: Counter,
    /// Database statements, without begin and commit, and without those of the bus.
    pub statements: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tidings");
        let metrics = Self {
            sessions: Gauge::default(),
            subscriptions: Gauge::default(),
            items_delivered: Counter::default(),
            overviews_delivered: Counter::default(),
            views_delivered: Counter::default(),
            slow_readers: Counter::default(),
            bus_connected: Gauge::default(),
            bus_lag: Gauge::default(),
            bus_sent: Counter::default(),
            bus_lost: Counter::default(),
            statements: Counter::default(),
            registry: Registry::default(),
        };
        registry.register("sessions", "Open sockets and event streams", metrics.sessions.clone());
        registry.register("subscriptions", "Running subscriptions", metrics.subscriptions.clone());
        registry.register("items_delivered", "New items handed to subscriptions", metrics.items_delivered.clone());
        let overviews = metrics.overviews_delivered.clone();
        registry.register("overviews_delivered", "Overviews handed to subscriptions", overviews);
        registry.register("views_delivered", "Views handed to subscriptions", metrics.views_delivered.clone());
        registry.register("slow_readers", "Subscriptions ended for reading too slowly", metrics.slow_readers.clone());
        registry.register("bus_connected", "Whether notices of other nodes arrive", metrics.bus_connected.clone());
        let lag = "How long the newest own notice took there and back";
        registry.register_with_unit("bus_lag", lag, Unit::Seconds, metrics.bus_lag.clone());
        registry.register("bus_sent", "Messages with notices to other nodes", metrics.bus_sent.clone());
        registry.register("bus_lost", "Notices of other nodes that did not arrive", metrics.bus_lost.clone());
        registry.register("statements", "Database statements", metrics.statements.clone());
        metrics.bus_connected.set(1);
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// All figures as text, in the format that Prometheus reads.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(4096);
        // Writing into a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

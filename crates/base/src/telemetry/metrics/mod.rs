//! Metrics of this server, for Prometheus.

mod labels;
mod process;

use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

pub use labels::{
    CallerLabels, DeliveryLabels, DestinationLabels, HttpLabels, PoolLabels, PublicationLabels, ReasonLabels,
    RequestLabels, RequestTimeLabels, RuleRunLabels,
};
use process::ProcessCollector;

/// Buckets of request durations, in seconds. An overview takes about 1 ms, the longest allowed operation 10 s.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Buckets of delivery delays, in seconds. A single webhook takes some tens of milliseconds, a backlog hours.
const DELAYS: [f64; 10] = [0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 120.0, 600.0, 3600.0];

/// How often no database connection became free in time. Global, because the code that detects it knows no server.
pub static POOL_TIMEOUTS: LazyLock<Counter> = LazyLock::new(Counter::default);

/// The commit of this build, if the build set it.
const REVISION: &str = match option_env!("TIDINGS_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// The metrics of one server. None names a tenant or a user, and no label has a value that a client chooses.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Completed GraphQL requests of all transports.
    pub requests: Family<RequestLabels, Counter>,
    /// Duration of queries and mutations, from the moment that they were read.
    pub request_time: Family<RequestTimeLabels, Histogram>,
    /// Queries and mutations in progress.
    pub in_flight: Gauge,
    /// Requests that were refused at once because too many were in progress.
    pub shed: Counter,
    /// Requests that were refused because their caller had used up its rate.
    pub rate_limited: Family<CallerLabels, Counter>,
    /// 1 while nodes count the callers' rates together, 0 while this node counts alone.
    pub rate_shared: Gauge,
    /// Operations counted by this node alone because Redis was unavailable or slow.
    pub rate_alone: Counter,
    /// Bytes of responses that clients have not read yet. Small responses to callers with a token do not count.
    pub unread_bytes: Gauge,
    /// Responses to callers without a token that were refused because too many were unread.
    pub unread_refused: Counter,
    /// Events that were delayed because their user had used up the bytes of a minute.
    pub events_slowed: Counter,
    /// Responses of all routes, by HTTP status.
    pub http_answers: Family<HttpLabels, Counter>,
    /// Open client connections, including WebSockets.
    pub http_connections: Gauge,
    /// Client connections that were closed at once, or could not be accepted.
    http_connections_refused: Family<ReasonLabels, Counter>,
    /// Client connections that were closed because the client sent or read too little.
    http_connections_dropped: Family<ReasonLabels, Counter>,
    /// Published notifications.
    pub published: Family<PublicationLabels, Counter>,
    /// Completed runs of rules.
    pub rule_runs: Family<RuleRunLabels, Counter>,
    /// Attempted deliveries to the outside.
    pub deliveries: Family<DeliveryLabels, Counter>,
    /// Seconds from a notification's publication until a destination had accepted it, or from when an email was due
    /// until a relay had accepted it. First attempts only.
    pub delivery_delay: Histogram,
    /// Destinations of all tenants; the same on each node.
    pub destinations: Family<DestinationLabels, Gauge>,
    /// Failed turns of tenants in background tasks.
    pub tenants_passed_over: Counter,
    /// Inboxes that a sync changed or advanced in the log.
    pub syncs: Counter,
    /// Items that syncs added to inboxes.
    pub items_made: Counter,
    /// Open WebSockets and event streams.
    pub sessions: Gauge,
    /// Subscriptions in them.
    pub subscriptions: Gauge,
    /// New items delivered to subscriptions.
    pub items_delivered: Counter,
    /// Overviews delivered to subscriptions.
    pub overviews_delivered: Counter,
    /// Views delivered to subscriptions.
    pub views_delivered: Counter,
    /// Subscriptions that were ended because their client read too slowly.
    pub slow_readers: Counter,
    /// 1 while notices of other nodes arrive, 0 while they do not. 1 if there is no bus.
    pub bus_connected: Gauge,
    /// Seconds that this node's last message took over the bus and back.
    pub bus_lag: Gauge<f64, AtomicU64>,
    /// Messages with notices that this node sent to the others.
    pub bus_sent: Counter,
    /// Messages with notices that other nodes sent and this node did not receive.
    pub bus_lost: Counter,
    /// Cached overviews that Redis validated, without a statement on the database.
    pub board_hits: Counter,
    /// Cached overviews that were validated by the database although Redis is configured.
    pub board_misses: Counter,
    /// 1 while this node trusts the invalidation tokens in Redis, 0 otherwise or without Redis.
    pub board_trusted: Gauge,
    /// Seconds that commits took to invalidate tokens.
    pub board_push_time: Histogram,
    /// Cached overviews that Redis declared valid and the database did not.
    pub overview_drift: Counter,
    /// Seconds that this node's clock is ahead of the database's.
    pub clock_skew: Gauge<f64, AtomicU64>,
    /// Database statements, without BEGIN and COMMIT, and without those of the bus.
    pub statements: Counter,
    /// Database connections at the time of the scrape.
    connections: Family<PoolLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(ProcessCollector::new()));
        let registry = all.sub_registry_with_prefix("tidings");
        let built = Info::new([("version", env!("CARGO_PKG_VERSION")), ("revision", REVISION)]);
        registry.register("build", "Version and commit of this build", built);
        let request_time: Family<RequestTimeLabels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let time = "Duration of queries and mutations";
        registry.register_with_unit("request", time, Unit::Seconds, request_time.clone());
        let delivery_delay = Histogram::new(DELAYS);
        let delay = "Time until a destination accepted a delivery at the first attempt";
        registry.register_with_unit("delivery_delay", delay, Unit::Seconds, delivery_delay.clone());
        let bus_lag = Gauge::default();
        let lag = "Round trip of this node's last message over the bus";
        registry.register_with_unit("bus_lag", lag, Unit::Seconds, bus_lag.clone());
        let board_push_time = Histogram::new(SECONDS);
        let push = "Time that commits took to invalidate cached overviews in Redis";
        registry.register_with_unit("board_push", push, Unit::Seconds, board_push_time.clone());
        let clock_skew = Gauge::default();
        let skew = "How far this node's clock is ahead of the database's";
        registry.register_with_unit("clock_skew", skew, Unit::Seconds, clock_skew.clone());
        let pool_timeouts = "Requests for a database connection that timed out";
        registry.register("pool_timeouts", pool_timeouts, POOL_TIMEOUTS.clone());
        let mut of = MetricBuilder(registry);
        let metrics = Self {
            requests: of.register_metric("requests", "Completed GraphQL requests"),
            request_time,
            in_flight: of.register_metric("in_flight", "Queries and mutations in progress"),
            shed: of.register_metric("shed", "Requests refused because too many were in progress"),
            rate_limited: of.register_metric("rate_limited", "Requests refused because the caller exceeded its rate"),
            rate_shared: of
                .register_metric("rate_shared", "Whether the nodes count rates together (1) or each for itself (0)"),
            rate_alone: of.register_metric(
                "rate_alone",
                "Operations counted by this node alone, because Redis did not answer in time",
            ),
            unread_bytes: of.register_metric("unread_bytes", "Bytes of responses that clients have not read yet"),
            unread_refused: of.register_metric(
                "unread_refused",
                "Responses to callers without a token refused because too many were unread",
            ),
            events_slowed: of
                .register_metric("events_slowed", "Events delayed because the user exceeded its bytes per minute"),
            http_answers: of.register_metric("http_answers", "HTTP responses"),
            http_connections: of.register_metric("http_connections", "Open client connections"),
            http_connections_refused: of.register_metric("http_connections_refused", "Client connections refused"),
            http_connections_dropped: of.register_metric(
                "http_connections_dropped",
                "Client connections closed because the client sent or read too slowly",
            ),
            published: of.register_metric("published", "Published notifications"),
            rule_runs: of.register_metric("rule_runs", "Completed runs of rules"),
            deliveries: of.register_metric("deliveries", "Attempted deliveries of all channels"),
            delivery_delay,
            destinations: of.register_metric("lanes", "Destinations of all channels and tenants"),
            tenants_passed_over: of
                .register_metric("tenants_passed_over", "Tenants skipped by background tasks after an error"),
            syncs: of.register_metric("syncs", "Inboxes synced with the log"),
            items_made: of.register_metric("items_made", "Inbox items created by syncs"),
            sessions: of.register_metric("sessions", "Open WebSockets and event streams"),
            subscriptions: of.register_metric("subscriptions", "Open subscriptions"),
            items_delivered: of.register_metric("items_delivered", "New items delivered to subscriptions"),
            views_delivered: of.register_metric("views_delivered", "Views delivered to subscriptions"),
            overviews_delivered: of.register_metric("overviews_delivered", "Overviews delivered to subscriptions"),
            slow_readers: of.register_metric("slow_readers", "Subscriptions ended because the client read too slowly"),
            bus_connected: of
                .register_metric("bus_connected", "Whether messages of other nodes arrive over the bus (1) or not (0)"),
            bus_lag,
            bus_sent: of.register_metric("bus_sent", "Messages sent to other nodes over the bus"),
            bus_lost: of.register_metric("bus_lost", "Messages of other nodes that did not arrive over the bus"),
            board_hits: of.register_metric("board_hits", "Cached overviews validated by Redis"),
            board_misses: of.register_metric(
                "board_misses",
                "Cached overviews validated by the database although Redis is configured",
            ),
            board_trusted: of.register_metric(
                "board_trusted",
                "Whether this node uses Redis to validate cached overviews (1) or not (0)",
            ),
            board_push_time,
            overview_drift: of
                .register_metric("overview_drift", "Cached overviews that Redis called valid but the database did not"),
            clock_skew,
            statements: of.register_metric("statements", "Database statements"),
            connections: of.register_metric("connections", "Database connections"),
            registry: Registry::default(),
        };
        metrics.bus_connected.set(1);
        // Prometheus sees an increase only of a time series that it has seen before.
        for channel in ["webhook", "email", "wechat", "web_push"] {
            for outcome in ["delivered", "failed", "dead", "dropped"] {
                metrics.deliveries.get_or_create(&DeliveryLabels { channel, outcome }).inc_by(0);
            }
        }
        Self { registry: all, ..metrics }
    }
}

/// A registry that is being built.
struct MetricBuilder<'a>(&'a mut Registry);

impl MetricBuilder<'_> {
    fn register_metric<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }
}

impl Metrics {
    /// A request ended with this code after this time; `OK` without errors. Subscriptions have no time.
    pub fn record_request(&self, operation: &str, kind: &'static str, code: &str, took: Option<Duration>) {
        let labels = RequestLabels { operation: operation.to_owned(), kind, code: code.to_owned() };
        self.requests.get_or_create(&labels).inc();
        if let Some(took) = took {
            self.request_time.get_or_create(&RequestTimeLabels { kind }).observe(took.as_secs_f64());
        }
    }

    /// A client's connection was refused for this reason.
    pub fn record_refused_connection(&self, why: &'static str) {
        self.http_connections_refused.get_or_create(&ReasonLabels { why }).inc();
    }

    /// A client's connection was closed for this reason.
    pub fn record_dropped_connection(&self, why: &'static str) {
        self.http_connections_dropped.get_or_create(&ReasonLabels { why }).inc();
    }

    /// A pool of this name has `size` connections, of which `idle` are idle.
    pub fn record_pool(&self, pool: &'static str, size: usize, idle: usize) {
        for (state, count) in [("idle", idle), ("used", size.saturating_sub(idle))] {
            self.connections.get_or_create(&PoolLabels { pool, state }).set(count.try_into().unwrap_or(i64::MAX));
        }
    }

    /// All metrics as text, in the `OpenMetrics` format that Prometheus reads.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(8192);
        // Writing into a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

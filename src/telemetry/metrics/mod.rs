//! What the server counts of itself, for Prometheus.

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

pub use labels::{Caller, Connections, Deliveries, Http, Published, Ran, Requests, Standing, Timed, Why};
use process::Process;

/// Bounds of the histogram of requests, in seconds: an overview takes a millisecond, the longest allowed operation 10 s.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Bounds of the histogram of webhooks, in seconds: one at a time takes some tens of milliseconds, and a backlog hours.
const DELAYS: [f64; 10] = [0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 120.0, 600.0, 3600.0];

/// How often nobody gave a database connection back in time. Of the whole process: it is found out where an error is
/// made, and no server is known.
pub static POOL_TIMEOUTS: LazyLock<Counter> = LazyLock::new(Counter::default);

/// The commit that this was built from, where whoever built it has said so.
const REVISION: &str = match option_env!("TIDINGS_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// The figures of one server, which whatever they are about sets; none of them names a tenant or a user, and no label
/// has a value that a client chooses.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// GraphQL requests that have ended, by whatever transport they came.
    pub requests: Family<Requests, Counter>,
    /// How long queries and mutations took, from the moment that they could be read.
    pub request_time: Family<Timed, Histogram>,
    /// Queries and mutations under way.
    pub in_flight: Gauge,
    /// Requests that were refused at once, because too many were under way.
    pub shed: Counter,
    /// Requests that were refused because their caller had used up their rate.
    pub rate_limited: Family<Caller, Counter>,
    /// 1 while the rates of callers are counted together with other nodes, 0 while this node counts for itself.
    pub rate_shared: Gauge,
    /// Operations whose rate this node counted for itself although there is a Redis, which was away or late.
    pub rate_alone: Counter,
    /// Bytes of answers that were made and that their callers have not taken, but for small answers to callers with a token.
    pub unread_bytes: Gauge,
    /// Answers to callers without a token that were refused because others from their network were not taken.
    pub unread_refused: Counter,
    /// Events that waited because their user had used up the bytes of a minute.
    pub events_slowed: Counter,
    /// Answers by HTTP status, whatever was asked for.
    pub http_answers: Family<Http, Counter>,
    /// Open connections of clients, sockets among them.
    pub http_connections: Gauge,
    /// Connections of clients that were closed at once, or not even accepted.
    http_connections_refused: Family<Why, Counter>,
    /// Connections of clients that were closed for what they did not do, or to make room for others.
    http_connections_dropped: Family<Why, Counter>,
    /// Notifications that were published.
    pub published: Family<Published, Counter>,
    /// Runs of rules that have ended.
    pub rule_runs: Family<Ran, Counter>,
    /// Webhooks and mail that were tried.
    pub deliveries: Family<Deliveries, Counter>,
    /// Seconds from its publication until a webhook's receiver had it, or from when a letter was due until a relay had it, where it was
    /// taken at the first attempt.
    pub delivery_delay: Histogram,
    /// Webhook endpoints and mail relays of all tenants, the same on each node.
    pub lanes: Family<Standing, Gauge>,
    /// Turns of tenants in what goes on in the background that failed.
    pub tenants_passed_over: Counter,
    /// Inboxes that a sync had something for, or that were moved on in the log by it.
    pub syncs: Counter,
    /// Items that syncs put into them.
    pub items_made: Counter,
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
    /// Overviews that were served by what hangs on the board, without a statement.
    pub board_hits: Counter,
    /// Overviews that were remembered, and of which the database was asked although there is a board.
    pub board_misses: Counter,
    /// 1 while what hangs on the board is believed, 0 while it is not, or there is none.
    pub board_trusted: Gauge,
    /// Seconds that commits took to take something off the board.
    pub board_push_time: Histogram,
    /// Overviews for which the board stood and the database did not.
    pub overview_drift: Counter,
    /// Seconds that this node's clock is ahead of the database's.
    pub clock_skew: Gauge<f64, AtomicU64>,
    /// Database statements, without begin and commit, and without those of the bus.
    pub statements: Counter,
    /// Database connections, as they are when somebody asks.
    connections: Family<Connections, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(Process::new()));
        let registry = all.sub_registry_with_prefix("tidings");
        let built = Info::new([("version", env!("CARGO_PKG_VERSION")), ("revision", REVISION)]);
        registry.register("build", "What is running", built);
        let request_time: Family<Timed, Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let time = "How long queries and mutations took";
        registry.register_with_unit("request", time, Unit::Seconds, request_time.clone());
        let delivery_delay = Histogram::new(DELAYS);
        let delay = "How long it took until a receiver of a webhook or a relay had something";
        registry.register_with_unit("delivery_delay", delay, Unit::Seconds, delivery_delay.clone());
        let bus_lag = Gauge::default();
        let lag = "How long the newest own notice took there and back";
        registry.register_with_unit("bus_lag", lag, Unit::Seconds, bus_lag.clone());
        let board_push_time = Histogram::new(SECONDS);
        let push = "How long it took to take something off the board";
        registry.register_with_unit("board_push", push, Unit::Seconds, board_push_time.clone());
        let clock_skew = Gauge::default();
        let skew = "How far this node's clock is ahead of the database's";
        registry.register_with_unit("clock_skew", skew, Unit::Seconds, clock_skew.clone());
        let pool_timeouts = "How often no database connection was free in time";
        registry.register("pool_timeouts", pool_timeouts, POOL_TIMEOUTS.clone());
        let mut of = Of(registry);
        let metrics = Self {
            requests: of.counted("requests", "GraphQL requests that have ended"),
            request_time,
            in_flight: of.counted("in_flight", "Queries and mutations under way"),
            shed: of.counted("shed", "Requests refused because too many were under way"),
            rate_limited: of.counted("rate_limited", "Requests refused because their caller asks too often"),
            rate_shared: of.counted("rate_shared", "Whether rates are counted together with other nodes"),
            rate_alone: of.counted("rate_alone", "Operations whose rate Redis did not count in time"),
            unread_bytes: of.counted("unread_bytes", "Bytes of answers that are not taken yet"),
            unread_refused: of.counted("unread_refused", "Answers refused because others were not taken"),
            events_slowed: of.counted("events_slowed", "Events that waited for the bytes of their user"),
            http_answers: of.counted("http_answers", "HTTP answers"),
            http_connections: of.counted("http_connections", "Open connections of clients"),
            http_connections_refused: of.counted("http_connections_refused", "Connections of clients refused"),
            http_connections_dropped: of
                .counted("http_connections_dropped", "Connections of clients closed by the server"),
            published: of.counted("published", "Notifications published"),
            rule_runs: of.counted("rule_runs", "Runs of rules that have ended"),
            deliveries: of.counted("deliveries", "Webhooks and mail that were tried"),
            delivery_delay,
            lanes: of.counted("lanes", "Webhook endpoints and mail relays"),
            tenants_passed_over: of.counted("tenants_passed_over", "Turns of tenants in the background that failed"),
            syncs: of.counted("syncs", "Inboxes brought up to the end of the log"),
            items_made: of.counted("items_made", "Inbox items made by syncs"),
            sessions: of.counted("sessions", "Open sockets and event streams"),
            subscriptions: of.counted("subscriptions", "Running subscriptions"),
            items_delivered: of.counted("items_delivered", "New items handed to subscriptions"),
            views_delivered: of.counted("views_delivered", "Views handed to subscriptions"),
            overviews_delivered: of.counted("overviews_delivered", "Overviews handed to subscriptions"),
            slow_readers: of.counted("slow_readers", "Subscriptions ended for reading too slowly"),
            bus_connected: of.counted("bus_connected", "Whether notices of other nodes arrive"),
            bus_lag,
            bus_sent: of.counted("bus_sent", "Messages with notices to other nodes"),
            bus_lost: of.counted("bus_lost", "Notices of other nodes that did not arrive"),
            board_hits: of.counted("board_hits", "Overviews served by the board"),
            board_misses: of.counted("board_misses", "Overviews that the database was asked for beside the board"),
            board_trusted: of.counted("board_trusted", "Whether the board is believed"),
            board_push_time,
            overview_drift: of
                .counted("overview_drift", "Overviews for which the board stood and the database did not"),
            clock_skew,
            statements: of.counted("statements", "Database statements"),
            connections: of.counted("connections", "Database connections"),
            registry: Registry::default(),
        };
        metrics.bus_connected.set(1);
        // An increase shows only in what was there before.
        for channel in ["webhook", "email"] {
            for outcome in ["delivered", "failed", "dead", "dropped"] {
                metrics.deliveries.get_or_create(&Deliveries { channel, outcome }).inc_by(0);
            }
        }
        Self { registry: all, ..metrics }
    }
}

/// A registry on its way.
struct Of<'a>(&'a mut Registry);

impl Of<'_> {
    fn counted<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }
}

impl Metrics {
    /// A request has ended with this code after that long; `OK` where nothing was wrong. Subscriptions have no time.
    pub fn answered(&self, operation: &str, kind: &'static str, code: &str, took: Option<Duration>) {
        let labels = Requests { operation: operation.to_owned(), kind, code: code.to_owned() };
        self.requests.get_or_create(&labels).inc();
        if let Some(took) = took {
            self.request_time.get_or_create(&Timed { kind }).observe(took.as_secs_f64());
        }
    }

    /// A connection of a client was refused, because of this.
    pub fn refused(&self, why: &'static str) {
        self.http_connections_refused.get_or_create(&Why { why }).inc();
    }

    /// A connection of a client was closed, because of this.
    pub fn dropped(&self, why: &'static str) {
        self.http_connections_dropped.get_or_create(&Why { why }).inc();
    }

    /// A pool of this name has so many connections, of which so many are idle.
    pub fn pool(&self, pool: &'static str, size: usize, idle: usize) {
        for (state, count) in [("idle", idle), ("used", size.saturating_sub(idle))] {
            self.connections.get_or_create(&Connections { pool, state }).set(count.try_into().unwrap_or(i64::MAX));
        }
    }

    /// All figures as text, in the format that Prometheus reads.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(8192);
        // Writing into a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

//! A server for each test, and the actors that use it.

mod actor;
mod database;
mod process;
pub mod relay;
#[expect(dead_code, reason = "tests/chaos uses all of it")]
mod server;
mod socket;
mod template;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use auth::CallerRole;
use axum::Router;
use base::clock::Clock;
use base::config::ServerConfig;
use chrono::{DateTime, TimeDelta, Utc};
use live::LiveRooms;
use sea_orm::{ConnectionTrait, Statement};
use store::open;
use tidings::app::App;
use tidings::http::Server;

pub use actor::{Actor, everyone};
pub use database::{Kind, TestDatabase, everything_must_be_tested};
pub use process::{Process, Redis, free_port};
pub use server::Server as OwnServer;
pub use socket::{ITEMS, OVERVIEWS, PATIENCE, Socket, VIEWS};

/// Signs the tokens of all tests.
pub const SECRET: &str = "the secret of the tests, 32 bytes";

/// Encrypts the secrets of tenants.
pub const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// Defines a test that runs on every reachable kind of database.
macro_rules! on_every_database {
    ($($(#[$attribute:meta])* async fn $name:ident($app:ident) $body:block)+) => {$(
        $(#[$attribute])*
        async fn $name($app: &crate::support::TestApp) $body

        mod $name {
            #[tokio::test]
            async fn sqlite() {
                crate::support::with(crate::support::Kind::Sqlite, async |app| super::$name(app).await).await;
            }

            #[tokio::test]
            async fn postgres() {
                crate::support::with(crate::support::Kind::Postgres, async |app| super::$name(app).await).await;
            }

            #[tokio::test]
            async fn mysql() {
                crate::support::with(crate::support::Kind::Mysql, async |app| super::$name(app).await).await;
            }
        }
    )+};
}
pub(crate) use on_every_database;

/// A running server with its own database. Its clock stands still until a test advances it.
pub struct TestApp {
    pub app: Arc<App>,
    pub live: Arc<LiveRooms>,
    pub routes: Router,
    statements: Arc<AtomicUsize>,
    texts: Arc<Mutex<HashSet<String>>>,
    recorded: Arc<Mutex<Option<Vec<Statement>>>>,
    panic_at: Arc<Mutex<Option<&'static str>>>,
    /// Pairs of tenant and target type that are open to users. An empty type means that the tenant's users may follow
    /// each other.
    opened: tokio::sync::Mutex<HashSet<(String, String)>>,
}

/// Runs a test on one kind of database, if it is reachable.
pub async fn with(kind: Kind, test: impl AsyncFnOnce(&TestApp)) {
    with_settings(kind, |_| {}, test).await;
}

/// Like [`with`], but changes the settings first.
pub async fn with_settings(kind: Kind, change: impl FnOnce(&mut ServerConfig), test: impl AsyncFnOnce(&TestApp)) {
    let Some(database) = kind.migrated().await else { return };
    let mut settings = config(&database.url);
    change(&mut settings);
    let app = TestApp::configured(settings).await;
    test(&app).await;
    drop(app.routes);
    if let Ok(app) = Arc::try_unwrap(app.app) {
        app.db.close().await;
    }
    database.remove().await;
}

impl TestApp {
    /// Starts a server with the database at `url` and the tenant `acme`.
    pub async fn start(url: &str) -> Self {
        Self::configured(config(url)).await
    }

    /// Like [`Self::start`], but changes the settings first.
    pub async fn start_with(url: &str, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut config = config(url);
        change(&mut config);
        Self::configured(config).await
    }

    /// Starts a server with these settings. Its clock stands at 2026-11-21T08:00:00Z.
    pub async fn configured(config: ServerConfig) -> Self {
        let start = DateTime::parse_from_rfc3339("2026-11-21T08:00:00Z").expect("it is one");
        Self::at(config, Clock::fixed_at(start.with_timezone(&Utc))).await
    }

    /// Starts another node with the same database and clock, but its own caches.
    pub async fn beside(&self) -> Self {
        Self::at(self.app.config.clone(), self.app.clock.clone()).await
    }

    /// Starts a node with this clock.
    pub async fn at(config: ServerConfig, clock: Clock) -> Self {
        // The test runner shows these warnings if the test fails.
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_test_writer();
        let _ = log.try_init();
        let mut db = open(&config.database).await.expect("the test's database answers");
        db.migrate().await.expect("the migrations apply");
        let statements = Arc::<AtomicUsize>::default();
        let counter = statements.clone();
        let texts = Arc::<Mutex<HashSet<String>>>::default();
        let seen = texts.clone();
        let recorded = Arc::<Mutex<Option<Vec<Statement>>>>::default();
        let record = recorded.clone();
        let panic_at = Arc::<Mutex<Option<&'static str>>>::default();
        let panics = panic_at.clone();
        db.add_observer(move |info| {
            let text = info.statement.sql.replace(['"', '`'], "");
            let part = panics.lock().unwrap().take_if(|part| text.contains(*part));
            assert!(part.is_none(), "the test wants whoever asks this to panic");
            if !BACKGROUND.iter().any(|part| text.contains(part)) {
                counter.fetch_add(1, Ordering::SeqCst);
                record.lock().unwrap().iter_mut().for_each(|all| all.push(info.statement.clone()));
                seen.lock().unwrap().insert(text);
            }
        });
        let app = App::start_with_database(db, config, clock).await.expect("the server starts");
        let live = Arc::<LiveRooms>::default();
        let routes = Server::new(app.clone(), live.clone()).routes();
        Self { app, live, routes, statements, texts, recorded, panic_at, opened: tokio::sync::Mutex::default() }
    }

    /// Listens on a free port and runs all background loops until the returned guard is dropped.
    pub async fn listen(&self) -> Listening {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address").to_string();
        let worker = tidings::worker::start(&self.app, &self.live).await.expect("the loops start");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving =
            Server::new(self.app.clone(), self.live.clone()).serve(listener, async move { drop(stopped.await) });
        Listening { address, stop: Some(stop), serving: tokio::spawn(serving), worker }
    }

    /// A user of the tenant `acme`.
    pub fn user(&self, id: &str) -> Actor<'_> {
        Actor::new(self, "acme", id, CallerRole::User)
    }

    /// The backend of the tenant `acme`.
    pub fn service(&self) -> Actor<'_> {
        Actor::new(self, "acme", "shop", CallerRole::Service)
    }

    /// The operator of the tenant `acme`.
    pub fn admin(&self) -> Actor<'_> {
        Actor::new(self, "acme", "operator", CallerRole::Admin)
    }

    /// An actor of another tenant, `globex`.
    pub fn stranger(&self, id: &str, role: CallerRole) -> Actor<'_> {
        Actor::new(self, "globex", id, role)
    }

    /// Advances the clock.
    pub fn advance(&self, by: TimeDelta) {
        self.app.clock.advance(by);
    }

    /// The current time of the server's clock.
    pub fn now(&self) -> DateTime<Utc> {
        base::clock::to_date_time(self.app.now())
    }

    /// Panics in the next statement that contains `part`.
    pub fn panic_at(&self, part: &'static str) {
        *self.panic_at.lock().unwrap() = Some(part);
    }

    /// Runs a statement directly in the database: for changes that no client can make, or that would take a client too
    /// long.
    pub async fn by_hand(&self, statement: &str) {
        let txn = self.app.db.begin().await.unwrap();
        txn.execute_unprepared(statement).await.unwrap();
        txn.commit().await.unwrap();
    }

    /// Opens to users the target types that a request subscribes to, and following. Does each of them once.
    async fn open_to_users(&self, tenant: &str, query: &str, variables: &serde_json::Value) {
        let mut wanted = HashSet::new();
        if query.contains("followUser(") {
            wanted.insert(String::new());
        }
        if query.contains("subscribeTopic(") {
            wanted.extend(
                query.split("target: { type: \"").skip(1).filter_map(|of| Some(of.split_once('"')?.0.to_owned())),
            );
            let mut values: Vec<&serde_json::Value> = vec![variables];
            while let Some(value) = values.pop() {
                wanted
                    .extend(value["type"].as_str().filter(|_| value["externalId"].is_string()).map(ToOwned::to_owned));
                values.extend(value.as_object().into_iter().flat_map(serde_json::Map::values));
            }
        }
        // The lock is held until everything is open, so that no other task continues before that.
        let mut opened = self.opened.lock().await;
        wanted.retain(|of| opened.insert((tenant.to_owned(), of.clone())));
        for code in wanted {
            use domain::catalogue::{SubscriptionPolicy, TargetType, save_follow_policy, save_target_type};
            let (app, subscription_policy) = (&self.app, SubscriptionPolicy::Open);
            let tenant = domain::tenant::get_or_create(app, tenant).await.unwrap();
            if code.is_empty() {
                save_follow_policy(app, &tenant, subscription_policy).await.unwrap();
            } else {
                // Ignore an invalid code here: the request itself fails on it.
                let _ = save_target_type(app, &tenant, &TargetType { code, subscription_policy }).await;
            }
        }
    }

    /// The text of every statement so far, without quotes and values.
    pub fn texts(&self) -> HashSet<String> {
        self.texts.lock().unwrap().clone()
    }

    /// Returns the statements that `work` runs, with their values.
    pub async fn recorded(&self, work: impl Future<Output = ()>) -> Vec<Statement> {
        *self.recorded.lock().unwrap() = Some(Vec::new());
        work.await;
        self.recorded.lock().unwrap().take().unwrap_or_default()
    }

    /// Counts the statements that `work` runs.
    pub async fn statements_of<T>(&self, work: impl Future<Output = T>) -> (usize, T) {
        let before = self.statements.load(Ordering::SeqCst);
        let value = work.await;
        (self.statements.load(Ordering::SeqCst) - before, value)
    }
}

/// A server that listens on a port.
pub struct Listening {
    pub address: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    serving: tokio::task::JoinHandle<base::error::Result<()>>,
    worker: tidings::worker::BackgroundLoops,
}

impl Listening {
    /// Starts a graceful shutdown, as SIGTERM does.
    pub fn ask_to_stop(&mut self) {
        self.stop.take();
    }

    /// Shuts the server down gracefully and waits until it has stopped.
    pub async fn stop(mut self) {
        self.ask_to_stop();
        drop(self.worker);
        self.serving.await.expect("it does not panic").expect("it serves to the end");
    }
}

/// Parts of the statements (without quotes) that background loops repeat at any time. Such statements are neither
/// counted nor recorded.
const BACKGROUND: [&str; 7] = [
    "FROM lane",
    "FROM rule WHERE rule.due_at",
    "FROM schedule WHERE schedule.publish_at",
    "FROM chore",
    "FROM job WHERE job.id > ",
    "tenant.last_seq, tenant.catalogue_version FROM tenant",
    "WHERE notification.expires_at > ",
];

/// The test settings of a server with the database at `url`.
pub fn config(url: &str) -> ServerConfig {
    let mut config = ServerConfig::for_database(url, SECRET);
    config.database.connections = 8;
    config.limits.rate = 0;
    config.limits.network_rate = 0;
    config.limits.route_rate = 0;
    config.user_messages = vec!["acme".into()];
    config.keys.key = Some(KEY.into());
    config.egress.allow = "127.0.0.1".parse().expect("it is an address");
    config.egress.push_allow = config.egress.allow.clone();
    config.public.url = Some("https://inbox.example.com".parse().expect("it is one"));
    config
}

//! The connection pool.
//!
//! The driver's own pool pings each connection when it is returned: a second round trip after every statement. Here, a
//! connection whose response has been read completely goes back as it is. Only one that was interrupted is reset first.

use std::cell::Cell;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult, Timeouts, WeakPool,
};
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::lineage::{self, DatabaseLineage, LineageFence, LineageTag, ServerFact};

tokio::task_local! {
    /// When the first acquire of this task must time out, if the task has already waited elsewhere.
    static HURRY: Cell<Option<Instant>>;
}

/// Runs work. Its first acquire of a connection times out at `until`.
pub fn with_deadline<F: Future>(until: Instant, work: F) -> impl Future<Output = F::Output> {
    HURRY.scope(Cell::new(Some(until)), work)
}

/// How long the ping of an idle connection may take before another connection is used.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// How long to wait for a database that is starting. Shorter than `ACQUIRE_TIMEOUT`, so that callers get the cause of
/// the failure.
const STARTS_WITHIN: Duration = Duration::from_millis(2_500);

/// How long connecting to one of several hosts may take before the next one is tried.
const HOST_WITHIN: Duration = Duration::from_secs(1);

/// How often to try to connect to a database that is starting.
const KNOCK: Duration = Duration::from_millis(100);

/// A connection that was idle this long is pinged before use: the server may have been restarted.
///
/// So a request that comes a second after a restart meets no stale connection: one that has been idle since is pinged,
/// and one that was used since has failed and is gone. Pinging every time would cost a round trip per statement. The
/// pool is LIFO, so a busy server pings none.
const TEST_AFTER_IDLE: Duration = Duration::from_millis(500);

/// How long a connection may take to finish interrupted work before it is closed.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(1);

/// Connections older than this are replaced: the database's memory per connection grows, and its address may have
/// changed.
const LIFETIME: Duration = Duration::from_mins(30);

/// A connection that is idle this long is closed.
const REST: Duration = Duration::from_mins(10);

/// How often idle connections are checked.
const ROUND: Duration = Duration::from_mins(1);

/// What the pool needs of a driver's connection.
pub trait PoolDriver: Connection {
    /// The query for a server's lineage. Empty if there is no server (SQLite).
    const ASKS: &'static str;

    /// Runs a statement without preparing it, such as one for transactions or settings.
    fn execute_simple(&mut self, words: &'static str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Runs SQL without preparing it, and returns the first two columns of each row that has at least two.
    fn query_facts(&mut self, words: String) -> impl Future<Output = sqlx::Result<Vec<ServerFact>>> + Send;

    /// The lineage that these facts describe.
    fn parse_lineage(facts: &[ServerFact]) -> Option<DatabaseLineage>;
}

macro_rules! driver {
    ($connection:ty, $asks:expr, $lineage:expr) => {
        impl PoolDriver for $connection {
            const ASKS: &'static str = $asks;

            async fn execute_simple(&mut self, words: &'static str) -> sqlx::Result<()> {
                sqlx::Executor::execute(self, words).await.map(|_| ())
            }

            async fn query_facts(&mut self, words: String) -> sqlx::Result<Vec<ServerFact>> {
                let rows = sqlx::raw_sql(AssertSqlSafe(words)).fetch_all(self).await?;
                let pairs = rows.iter().filter(|row| row.len() > 1);
                let text = |of: Option<String>| of.unwrap_or_default();
                pairs.map(|row| Ok((text(row.try_get_unchecked(0)?), text(row.try_get_unchecked(1)?)))).collect()
            }

            fn parse_lineage(facts: &[ServerFact]) -> Option<DatabaseLineage> {
                let lineage: fn(&[ServerFact]) -> Option<DatabaseLineage> = $lineage;
                lineage(facts)
            }
        }
    };
}

driver!(sqlx::sqlite::SqliteConnection, "", |_| None);
driver!(sqlx::postgres::PgConnection, lineage::POSTGRES, DatabaseLineage::from_postgres);
driver!(sqlx::mysql::MySqlConnection, lineage::MYSQL, DatabaseLineage::from_mysql);

/// For nodes of a Galera cluster: reads wait until earlier writes at other nodes have arrived.
const OF_CLUSTERS: &str = "SET SESSION wsrep_sync_wait = @@wsrep_sync_wait | 1";

/// Opens connections, and decides which ones may be reused.
pub struct ConnectionOpener<C: Connection> {
    hosts: HostList<C>,
    greeting: Option<&'static str>,
    fence: Arc<LineageFence>,
}

/// The hosts of one database. One of them takes writes.
pub struct HostList<C: Connection> {
    all: Vec<C::Options>,
    /// The host that answered last.
    at: AtomicUsize,
}

impl<C: Connection> HostList<C> {
    /// `all` is in order of preference.
    pub fn new(all: Vec<C::Options>) -> Self {
        Self { all, at: AtomicUsize::new(0) }
    }

    fn current(&self) -> &C::Options {
        &self.all[self.at.load(Ordering::Relaxed) % self.all.len()]
    }
}

/// An open connection with the tag of its lineage.
#[derive(Debug)]
pub struct OpenedConnection<C> {
    connection: C,
    tag: LineageTag,
}

impl<C: Connection> Debug for ConnectionOpener<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionOpener")
    }
}

impl<C: PoolDriver> ConnectionOpener<C> {
    /// Connects to the host that took writes last, or else to the next one that does.
    async fn open(&self) -> sqlx::Result<(C, Option<DatabaseLineage>)> {
        let (first, many) = (self.hosts.at.load(Ordering::Relaxed), self.hosts.all.len());
        let mut last = None;
        for place in first..first + many {
            let opening = self.open_at(&self.hosts.all[place % many]);
            let opened = if many == 1 {
                opening.await
            } else {
                // A lost machine may not respond at all.
                timeout(HOST_WITHIN, opening).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
            };
            let is_wanted = matches!(&opened, Ok((_, lineage)) if !lineage.as_ref().is_some_and(|of| of.is_read_only));
            if is_wanted || many == 1 {
                self.hosts.at.store(place % many, Ordering::Relaxed);
                return opened;
            }
            // If this attempt is cancelled, the next one starts with the next host.
            self.hosts.at.store((place + 1) % many, Ordering::Relaxed);
            // If no host takes writes, a read-only one that responds says more than one that does not.
            if opened.is_ok() || last.is_none() {
                last = Some(opened);
            }
        }
        last.expect("there is a host")
    }

    async fn open_at(&self, options: &C::Options) -> sqlx::Result<(C, Option<DatabaseLineage>)> {
        let mut connection = options.connect().await?;
        let Some(greeting) = self.greeting else {
            let facts =
                if C::ASKS.is_empty() { Vec::new() } else { connection.query_facts(C::ASKS.to_owned()).await? };
            return Ok((connection, C::parse_lineage(&facts)));
        };
        let facts = connection.query_facts(format!("{greeting}; {}", C::ASKS)).await?;
        let lineage = C::parse_lineage(&facts);
        if lineage.as_ref().is_some_and(|lineage| lineage.is_cluster) {
            connection.execute_simple(OF_CLUSTERS).await?;
        }
        Ok((connection, lineage))
    }
}

impl<C: PoolDriver> Manager for ConnectionOpener<C> {
    type Type = OpenedConnection<C>;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<OpenedConnection<C>> {
        let asked = Instant::now();
        let (connection, lineage) = loop {
            // Boxed, because the future is large and connecting is rare: it would enlarge the future of every request.
            match Box::pin(self.open()).await {
                Err(cause) if is_starting_up(&cause) && asked.elapsed() < STARTS_WITHIN => sleep(KNOCK).await,
                opened => break opened?,
            }
        };
        let tag = lineage.map_or(0, |lineage| self.fence.observe(&lineage));
        Ok(OpenedConnection { connection, tag })
    }

    async fn recycle(&self, opened: &mut OpenedConnection<C>, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if metrics.age() > LIFETIME {
            return Err(RecycleError::message("it is old"));
        }
        if !self.fence.is_admitted(opened.tag) {
            return Err(RecycleError::message("it leads elsewhere"));
        }
        if metrics.last_used() > TEST_AFTER_IDLE {
            opened.connection.ping().await?;
        }
        Ok(())
    }
}

/// Whether the failure may pass in a moment, because the database is starting.
fn is_starting_up(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Io(cause) => cause.kind() == std::io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(cause) => cause.is_transient_in_connect_phase(),
        _ => false,
    }
}

/// A pool of connections to one database.
#[derive(Debug)]
pub struct ConnectionPool<C: PoolDriver> {
    pool: Pool<ConnectionOpener<C>>,
    patience: Duration,
}

impl<C: PoolDriver> Clone for ConnectionPool<C> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), patience: self.patience }
    }
}

impl<C: PoolDriver + 'static> ConnectionPool<C> {
    /// Opens a pool of at most `many` connections, and its first connection. Each new connection runs `greeting`.
    /// Acquiring one takes at most `patience`, whether all are in use or none can be opened.
    pub async fn open(
        hosts: Vec<C::Options>,
        greeting: Option<&'static str>,
        (many, patience): (u32, Duration),
        fence: &Arc<LineageFence>,
    ) -> Result<Self, DbErr> {
        let timeouts = Timeouts { recycle: Some(ANSWERS_WITHIN), ..Timeouts::default() };
        let opener = ConnectionOpener { hosts: HostList::new(hosts), greeting, fence: fence.clone() };
        let pool = Pool::builder(opener)
            .max_size(many as usize)
            .timeouts(timeouts)
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("there is a runtime for the time-outs");
        let connections = Self { pool, patience };
        drop(connections.acquire().await?);
        tokio::spawn(close_idle_connections(connections.pool.weak()));
        Ok(connections)
    }

    /// The options of the current host.
    pub fn current_options(&self) -> &C::Options {
        self.pool.manager().hosts.current()
    }

    /// Acquires a connection for one statement or one transaction.
    ///
    /// Fails with `ConnectionAcquire` if none is available in time, and with `Conn` if none can be opened.
    pub async fn acquire(&self) -> Result<PooledConnection<C>, DbErr> {
        let (until, fence) = (self.acquire_deadline(), &self.pool.manager().fence);
        loop {
            fence.wait_until_open(until).await?;
            match timeout_at(until, self.pool.get()).await {
                Ok(Ok(connection)) if fence.is_usable(connection.tag) => {
                    return Ok(PooledConnection {
                        connection: Some(connection),
                        is_busy: false,
                        in_transaction: false,
                    });
                }
                // The fence closed meanwhile, usually because of this connection's lineage. Wait until it opens.
                Ok(Ok(connection)) if fence.is_admitted(connection.tag) => drop(connection),
                Ok(Ok(connection)) => drop(Object::take(connection)),
                Err(_) | Ok(Err(PoolError::Timeout(_))) => {
                    return Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout));
                }
                Ok(Err(PoolError::Backend(cause))) => return Err(DbErr::Conn(RuntimeErr::SqlxError(cause.into()))),
                Ok(Err(_)) => return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)),
            }
        }
    }

    /// When an acquire that starts now times out.
    pub fn acquire_deadline(&self) -> Instant {
        let own = Instant::now() + self.patience;
        HURRY.try_with(Cell::take).ok().flatten().map_or(own, |until| until.min(own))
    }

    /// The maximum number of connections.
    pub fn max_connections(&self) -> usize {
        self.pool.status().max_size
    }

    /// How long an acquire waits.
    pub fn acquire_timeout(&self) -> Duration {
        self.patience
    }

    /// The number of open connections, and how many of them are idle.
    pub fn connection_counts(&self) -> (usize, usize) {
        let status = self.pool.status();
        (status.size, status.available)
    }

    /// Closes idle connections to another lineage. Those in use are closed when they are returned.
    pub async fn close_stale(&self) {
        let fence = &self.pool.manager().fence;
        close_connections(self.pool.retain(|opened, _| fence.is_admitted(opened.tag)).removed).await;
    }

    /// Closes the pool. Connections in use are closed when they are returned.
    pub async fn close(&self) {
        let rested = self.pool.retain(|_, _| false);
        self.pool.close();
        close_connections(rested.removed).await;
    }
}

/// Runs until the pool is dropped.
async fn close_idle_connections<C: PoolDriver>(pool: WeakPool<ConnectionOpener<C>>) {
    loop {
        sleep(ROUND).await;
        let Some(pool) = pool.upgrade() else { return };
        let rested = pool.retain(|_, metrics| metrics.last_used() < REST);
        close_connections(rested.removed).await;
    }
}

async fn close_connections<C: PoolDriver>(connections: Vec<OpenedConnection<C>>) {
    for opened in connections {
        // Best effort: the connection is not needed any more.
        let _ = timeout(GIVEN_UP_WITHIN, opened.connection.close()).await;
    }
}

/// A connection in use. On drop it goes back to the pool if all responses have been read. Otherwise it is reset first,
/// in a task of its own, so that its user does not wait.
#[derive(Debug)]
pub struct PooledConnection<C: PoolDriver + 'static> {
    connection: Option<Object<ConnectionOpener<C>>>,
    is_busy: bool,
    in_transaction: bool,
}

impl<C: PoolDriver> PooledConnection<C> {
    /// The connection, for a request. Call [`Self::finish_request`] after the response.
    pub fn start_request(&mut self) -> &mut C {
        self.is_busy = true;
        &mut self.connection.as_mut().expect("a lent connection is returned only on drop").connection
    }

    /// Asks for the lineage again: a pooler may have switched servers, or a dump may have been restored.
    pub async fn query_lineage(&mut self) -> sqlx::Result<Option<DatabaseLineage>> {
        let facts = self.start_request().query_facts(C::ASKS.to_owned()).await?;
        self.finish_request();
        let lineage = C::parse_lineage(&facts);
        if let (Some(lineage), Some(opened)) = (&lineage, &mut self.connection) {
            opened.tag = Object::pool(opened).map_or(0, |pool| pool.manager().fence.observe(lineage));
        }
        Ok(lineage)
    }

    /// Notes that the response has been read completely.
    pub fn finish_request(&mut self) {
        self.is_busy = false;
    }

    /// Begins a transaction with this statement.
    pub async fn begin_transaction(&mut self, words: &'static str) -> sqlx::Result<()> {
        self.in_transaction = true;
        self.start_request().execute_simple(words).await?;
        self.finish_request();
        Ok(())
    }

    /// Ends the transaction with this statement.
    pub async fn end_transaction(&mut self, words: &'static str) -> sqlx::Result<()> {
        self.start_request().execute_simple(words).await?;
        self.finish_request();
        self.in_transaction = false;
        Ok(())
    }
}

impl<C: PoolDriver + 'static> Drop for PooledConnection<C> {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if !self.is_busy && !self.in_transaction {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(reset_connection(connection, self.in_transaction))),
            Err(_) => drop(Object::take(connection)),
        }
    }
}

/// Waits until interrupted work has ended and rolls it back, so that the connection can be reused. Closes the
/// connection if that takes too long. On MySQL, this happens if a statement was cancelled while being prepared: the
/// driver waits for rows that never come.
async fn reset_connection<C: PoolDriver>(mut connection: Object<ConnectionOpener<C>>, in_transaction: bool) {
    let mending = timeout(GIVEN_UP_WITHIN, async {
        if in_transaction {
            connection.connection.execute_simple("ROLLBACK").await?;
        }
        connection.connection.ping().await
    });
    if !matches!(mending.await, Ok(Ok(()))) {
        drop(Object::take(connection));
    }
}

//! Connections, and whom they are lent to.
//!
//! The driver's own pool asks each connection whether it still lives when it is given back: a second round trip after every
//! statement. Here a connection whose answer was read to its end goes back as it is, and only one that was left in the
//! middle of something is looked after.

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

use super::lineage::{self, Fact, Fence, Lineage, Tag};

tokio::task_local! {
    /// Until when the first connection of a task is waited for at the most, where others have waited for it already.
    static HURRY: Cell<Option<Instant>>;
}

/// Does work that waits for its first connection until this instant at the longest.
pub fn hurried<F: Future>(until: Instant, work: F) -> impl Future<Output = F::Output> {
    HURRY.scope(Cell::new(Some(until)), work)
}

/// How long one that has rested may take to answer before another one is used.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// How long a database that is starting is waited for: less, so that whoever waited in vain is told why.
const STARTS_WITHIN: Duration = Duration::from_millis(2_500);

/// How long one of several servers may take to be connected to before the next one is tried.
const HOST_WITHIN: Duration = Duration::from_secs(1);

/// How often a database that is starting is asked.
const KNOCK: Duration = Duration::from_millis(100);

/// A connection that has rested this long is tried before it is used: the server may have been restarted.
///
/// So a request that comes a second after a restart meets no stale connection: one that rested since is tried, and one that
/// was used since has failed and is gone. Trying every time would cost a round trip a statement. What was used last is lent
/// first, so that a busy server tries none.
const TEST_AFTER_IDLE: Duration = Duration::from_millis(500);

/// How long a connection may take to end what was given up, before it is closed.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(1);

/// Connections older than this are replaced: what the database keeps for each grows, and its address may have moved.
const LIFETIME: Duration = Duration::from_mins(30);

/// A connection that nobody has needed for so long is closed.
const REST: Duration = Duration::from_mins(10);

/// How often connections that rest are looked for.
const ROUND: Duration = Duration::from_mins(1);

/// What of a driver's connection is needed here.
pub trait Driver: Connection {
    /// Asks a server for its lineage; empty where there is no server.
    const ASKS: &'static str;

    /// Sends words of transactions and settings, which are not worth preparing.
    fn tell(&mut self, words: &'static str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Sends words, and returns the first two columns of all rows that have as many.
    fn facts(&mut self, words: String) -> impl Future<Output = sqlx::Result<Vec<Fact>>> + Send;

    /// Where it leads, by what it answered.
    fn lineage(facts: &[Fact]) -> Option<Lineage>;
}

macro_rules! driver {
    ($connection:ty, $asks:expr, $lineage:expr) => {
        impl Driver for $connection {
            const ASKS: &'static str = $asks;

            async fn tell(&mut self, words: &'static str) -> sqlx::Result<()> {
                sqlx::Executor::execute(self, words).await.map(|_| ())
            }

            async fn facts(&mut self, words: String) -> sqlx::Result<Vec<Fact>> {
                let rows = sqlx::raw_sql(AssertSqlSafe(words)).fetch_all(self).await?;
                let pairs = rows.iter().filter(|row| row.len() > 1);
                let text = |of: Option<String>| of.unwrap_or_default();
                pairs.map(|row| Ok((text(row.try_get_unchecked(0)?), text(row.try_get_unchecked(1)?)))).collect()
            }

            fn lineage(facts: &[Fact]) -> Option<Lineage> {
                let lineage: fn(&[Fact]) -> Option<Lineage> = $lineage;
                lineage(facts)
            }
        }
    };
}

driver!(sqlx::sqlite::SqliteConnection, "", |_| None);
driver!(sqlx::postgres::PgConnection, lineage::POSTGRES, Lineage::of_postgres);
driver!(sqlx::mysql::MySqlConnection, lineage::MYSQL, Lineage::of_mysql);

/// On a node of a Galera cluster: what was written at another node before is read here.
const OF_CLUSTERS: &str = "SET SESSION wsrep_sync_wait = @@wsrep_sync_wait | 1";

/// Opens connections, and says which may be lent again.
pub struct Opener<C: Connection> {
    hosts: Hosts<C>,
    greeting: Option<&'static str>,
    fence: Arc<Fence>,
}

/// The servers of one database. One of them takes writes.
pub struct Hosts<C: Connection> {
    all: Vec<C::Options>,
    /// The one that answered last.
    at: AtomicUsize,
}

impl<C: Connection> Hosts<C> {
    /// In the order in which they are tried.
    pub fn new(all: Vec<C::Options>) -> Self {
        Self { all, at: AtomicUsize::new(0) }
    }

    fn current(&self) -> &C::Options {
        &self.all[self.at.load(Ordering::Relaxed) % self.all.len()]
    }
}

/// A connection, and where it leads.
#[derive(Debug)]
pub struct Opened<C> {
    connection: C,
    tag: Tag,
}

impl<C: Connection> Debug for Opener<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

impl<C: Driver> Opener<C> {
    /// Connects to the server that took writes last, or else to the next that does.
    async fn open(&self) -> sqlx::Result<(C, Option<Lineage>)> {
        let (first, many) = (self.hosts.at.load(Ordering::Relaxed), self.hosts.all.len());
        let mut last = None;
        for place in first..first + many {
            let opening = self.open_at(&self.hosts.all[place % many]);
            let opened = if many == 1 {
                opening.await
            } else {
                // The machine of one may be lost, and answer nothing.
                timeout(HOST_WITHIN, opening).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
            };
            let is_wanted = matches!(&opened, Ok((_, lineage)) if !lineage.as_ref().is_some_and(|of| of.is_read_only));
            if is_wanted || many == 1 {
                self.hosts.at.store(place % many, Ordering::Relaxed);
                return opened;
            }
            // An attempt that is dropped meanwhile leaves the next host to the next attempt.
            self.hosts.at.store((place + 1) % many, Ordering::Relaxed);
            // Of several that do not do, one that answers says more than one that does not.
            if opened.is_ok() || last.is_none() {
                last = Some(opened);
            }
        }
        last.expect("there is a host")
    }

    async fn open_at(&self, options: &C::Options) -> sqlx::Result<(C, Option<Lineage>)> {
        let mut connection = options.connect().await?;
        let Some(greeting) = self.greeting else {
            let facts = if C::ASKS.is_empty() { Vec::new() } else { connection.facts(C::ASKS.to_owned()).await? };
            return Ok((connection, C::lineage(&facts)));
        };
        let facts = connection.facts(format!("{greeting}; {}", C::ASKS)).await?;
        let lineage = C::lineage(&facts);
        if lineage.as_ref().is_some_and(|lineage| lineage.is_cluster) {
            connection.tell(OF_CLUSTERS).await?;
        }
        Ok((connection, lineage))
    }
}

impl<C: Driver> Manager for Opener<C> {
    type Type = Opened<C>;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<Opened<C>> {
        let asked = Instant::now();
        let (connection, lineage) = loop {
            // In a box, since connecting is large and rare: it would make every request larger.
            match Box::pin(self.open()).await {
                Err(cause) if is_starting(&cause) && asked.elapsed() < STARTS_WITHIN => sleep(KNOCK).await,
                opened => break opened?,
            }
        };
        let tag = lineage.map_or(0, |lineage| self.fence.meets(&lineage));
        Ok(Opened { connection, tag })
    }

    async fn recycle(&self, opened: &mut Opened<C>, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if metrics.age() > LIFETIME {
            return Err(RecycleError::message("it is old"));
        }
        if !self.fence.admits(opened.tag) {
            return Err(RecycleError::message("it leads elsewhere"));
        }
        if metrics.last_used() > TEST_AFTER_IDLE {
            opened.connection.ping().await?;
        }
        Ok(())
    }
}

/// Whether a connection may be had in a moment.
fn is_starting(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Io(cause) => cause.kind() == std::io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(cause) => cause.is_transient_in_connect_phase(),
        _ => false,
    }
}

/// At most so many connections to one database.
#[derive(Debug)]
pub struct Connections<C: Driver> {
    pool: Pool<Opener<C>>,
    patience: Duration,
}

impl<C: Driver> Clone for Connections<C> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), patience: self.patience }
    }
}

impl<C: Driver + 'static> Connections<C> {
    /// Opens the first of at most `many` connections, each of which is told `greeting`. Nobody waits for one for longer than
    /// `patience`, be it that all are lent or that none can be opened.
    pub async fn open(
        hosts: Vec<C::Options>,
        greeting: Option<&'static str>,
        (many, patience): (u32, Duration),
        fence: &Arc<Fence>,
    ) -> Result<Self, DbErr> {
        let timeouts = Timeouts { recycle: Some(ANSWERS_WITHIN), ..Timeouts::default() };
        let opener = Opener { hosts: Hosts::new(hosts), greeting, fence: fence.clone() };
        let pool = Pool::builder(opener)
            .max_size(many as usize)
            .timeouts(timeouts)
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("there is a runtime for the time-outs");
        let connections = Self { pool, patience };
        drop(connections.lend().await?);
        tokio::spawn(close_the_rested(connections.pool.weak()));
        Ok(connections)
    }

    /// What they are opened with.
    pub fn options(&self) -> &C::Options {
        self.pool.manager().hosts.current()
    }

    /// A connection for one statement or one transaction.
    ///
    /// Fails with `ConnectionAcquire` where none could be had in time, and with `Conn` where none can be opened.
    pub async fn lend(&self) -> Result<Lent<C>, DbErr> {
        let (until, fence) = (self.waits_until(), &self.pool.manager().fence);
        loop {
            fence.wait(until).await?;
            match timeout_at(until, self.pool.get()).await {
                Ok(Ok(connection)) if fence.lends(connection.tag) => {
                    return Ok(Lent { connection: Some(connection), is_busy: false, in_transaction: false });
                }
                // The fence has closed over it, mostly since it leads elsewhere, and is waited for.
                Ok(Ok(connection)) if fence.admits(connection.tag) => drop(connection),
                Ok(Ok(connection)) => drop(Object::take(connection)),
                Err(_) | Ok(Err(PoolError::Timeout(_))) => {
                    return Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout));
                }
                Ok(Err(PoolError::Backend(cause))) => return Err(DbErr::Conn(RuntimeErr::SqlxError(cause.into()))),
                Ok(Err(_)) => return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)),
            }
        }
    }

    /// Until when whoever asks now waits.
    pub fn waits_until(&self) -> Instant {
        let own = Instant::now() + self.patience;
        HURRY.try_with(Cell::take).ok().flatten().map_or(own, |until| until.min(own))
    }

    /// How many there may be.
    pub fn many(&self) -> usize {
        self.pool.status().max_size
    }

    /// How long one is waited for.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// How many are open, and how many of them nobody uses.
    pub fn count(&self) -> (usize, usize) {
        let status = self.pool.status();
        (status.size, status.available)
    }

    /// Closes those at rest that lead elsewhere; those that are lent, when they are given back.
    pub async fn close_strays(&self) {
        let fence = &self.pool.manager().fence;
        close(self.pool.retain(|opened, _| fence.admits(opened.tag)).removed).await;
    }

    /// Closes them; those that are lent, when they are given back.
    pub async fn close(&self) {
        let rested = self.pool.retain(|_, _| false);
        self.pool.close();
        close(rested.removed).await;
    }
}

/// For as long as anybody has the pool.
async fn close_the_rested<C: Driver>(pool: WeakPool<Opener<C>>) {
    loop {
        sleep(ROUND).await;
        let Some(pool) = pool.upgrade() else { return };
        let rested = pool.retain(|_, metrics| metrics.last_used() < REST);
        close(rested.removed).await;
    }
}

async fn close<C: Driver>(connections: Vec<Opened<C>>) {
    for opened in connections {
        // Nobody has any more use for it, however that ends.
        let _ = timeout(GIVEN_UP_WITHIN, opened.connection.close()).await;
    }
}

/// A connection while somebody uses it. It goes back where everything it was asked for has been read; else it is looked
/// after first, off the path of whoever gave up or failed.
#[derive(Debug)]
pub struct Lent<C: Driver + 'static> {
    connection: Option<Object<Opener<C>>>,
    is_busy: bool,
    in_transaction: bool,
}

impl<C: Driver> Lent<C> {
    /// The connection, to be asked something; see [`Self::answered`].
    pub fn ask(&mut self) -> &mut C {
        self.is_busy = true;
        &mut self.connection.as_mut().expect("it is only given back when it is dropped").connection
    }

    /// Asks where it leads by now, which it may do elsewhere behind a pooler, and where a dump was restored.
    pub async fn look(&mut self) -> sqlx::Result<Option<Lineage>> {
        let facts = self.ask().facts(C::ASKS.to_owned()).await?;
        self.answered();
        let lineage = C::lineage(&facts);
        if let (Some(lineage), Some(opened)) = (&lineage, &mut self.connection) {
            opened.tag = Object::pool(opened).map_or(0, |pool| pool.manager().fence.meets(lineage));
        }
        Ok(lineage)
    }

    /// All of what it was asked has been read.
    pub fn answered(&mut self) {
        self.is_busy = false;
    }

    /// Begins a transaction with these words.
    pub async fn begin(&mut self, words: &'static str) -> sqlx::Result<()> {
        self.in_transaction = true;
        self.ask().tell(words).await?;
        self.answered();
        Ok(())
    }

    /// Ends the transaction with these words.
    pub async fn end(&mut self, words: &'static str) -> sqlx::Result<()> {
        self.ask().tell(words).await?;
        self.answered();
        self.in_transaction = false;
        Ok(())
    }
}

impl<C: Driver + 'static> Drop for Lent<C> {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if !self.is_busy && !self.in_transaction {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(mend(connection, self.in_transaction))),
            Err(_) => drop(Object::take(connection)),
        }
    }
}

/// Waits for what was given up to end, and takes it back, before the connection may be lent again. It is closed where that
/// takes too long, as on MySQL where a statement was given up while it was prepared: the driver waits for rows that never come.
async fn mend<C: Driver>(mut connection: Object<Opener<C>>, in_transaction: bool) {
    let mending = timeout(GIVEN_UP_WITHIN, async {
        if in_transaction {
            connection.connection.tell("ROLLBACK").await?;
        }
        connection.connection.ping().await
    });
    if !matches!(mending.await, Ok(Ok(()))) {
        drop(Object::take(connection));
    }
}

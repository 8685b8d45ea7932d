//! Connections, and whom they are lent to.
//!
//! The driver's own pool asks each connection whether it still lives when it is given back: a second round trip after every
//! statement. Here a connection whose answer was read to its end goes back as it is, and only one that was left in the
//! middle of something is looked after.

use std::cell::Cell;
use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult, Timeouts, WeakPool,
};
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};
use sqlx::{ConnectOptions, Connection};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

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
    /// Sends words of transactions and settings, which are not worth preparing.
    fn tell(&mut self, words: &'static str) -> impl Future<Output = sqlx::Result<()>> + Send;
}

macro_rules! driver {
    ($connection:ty) => {
        impl Driver for $connection {
            async fn tell(&mut self, words: &'static str) -> sqlx::Result<()> {
                sqlx::Executor::execute(self, words).await.map(|_| ())
            }
        }
    };
}

driver!(sqlx::sqlite::SqliteConnection);
driver!(sqlx::postgres::PgConnection);
driver!(sqlx::mysql::MySqlConnection);

/// Opens connections, and says which may be lent again.
pub struct Opener<C: Connection> {
    options: C::Options,
    greeting: Option<&'static str>,
}

impl<C: Connection> Debug for Opener<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

impl<C: Driver> Manager for Opener<C> {
    type Type = C;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<C> {
        let asked = Instant::now();
        let mut connection = loop {
            // In a box, since connecting is large and rare: it would make every request larger.
            match Box::pin(self.options.connect()).await {
                Err(cause) if is_starting(&cause) && asked.elapsed() < STARTS_WITHIN => sleep(KNOCK).await,
                connection => break connection?,
            }
        };
        if let Some(greeting) = self.greeting {
            connection.tell(greeting).await?;
        }
        Ok(connection)
    }

    async fn recycle(&self, connection: &mut C, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if metrics.age() > LIFETIME {
            return Err(RecycleError::message("it is old"));
        }
        if metrics.last_used() > TEST_AFTER_IDLE {
            connection.ping().await?;
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
        options: C::Options,
        greeting: Option<&'static str>,
        many: u32,
        patience: Duration,
    ) -> Result<Self, DbErr> {
        let timeouts = Timeouts { recycle: Some(ANSWERS_WITHIN), ..Timeouts::default() };
        let pool = Pool::builder(Opener { options, greeting })
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
        &self.pool.manager().options
    }

    /// A connection for one statement or one transaction.
    ///
    /// Fails with `ConnectionAcquire` where none could be had in time, and with `Conn` where none can be opened.
    pub async fn lend(&self) -> Result<Lent<C>, DbErr> {
        match timeout_at(self.waits_until(), self.pool.get()).await {
            Ok(Ok(connection)) => Ok(Lent { connection: Some(connection), is_busy: false, in_transaction: false }),
            Err(_) | Ok(Err(PoolError::Timeout(_))) => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
            Ok(Err(PoolError::Backend(cause))) => Err(DbErr::Conn(RuntimeErr::SqlxError(cause.into()))),
            Ok(Err(_)) => Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)),
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

async fn close<C: Driver>(connections: Vec<C>) {
    for connection in connections {
        // Nobody has any more use for it, however that ends.
        let _ = timeout(GIVEN_UP_WITHIN, connection.close()).await;
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
        self.connection.as_mut().expect("it is only given back when it is dropped")
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
            connection.tell("ROLLBACK").await?;
        }
        connection.ping().await
    });
    if !matches!(mending.await, Ok(Ok(()))) {
        drop(Object::take(connection));
    }
}

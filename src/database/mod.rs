//! The database: connecting to the one that the URL names, its transactions and its migrations.
//!
//! Ordinary statements are calls of an entity where they are used; `entity/src/statement` adds what SeaORM lacks (rows of a tenant or user,
//! lists padded to powers of two so that statements stay prepared, locks in each database's words). Statements whose plan matters are
//! written by hand in files named `statement.rs` beside their noun, with a row type and a comment on index and cost. Values are always bound. No
//! list in a statement has more than 1,000 entries.
//!
//! SQLite has one writer: transactions begin with `BEGIN IMMEDIATE` on a connection of its own (`connect`). `pool` lends connections
//! (deadpool over the drivers' connections; sqlx's own pool spends a round trip on every return). `health` asks once a second whether the database
//! answers. `share` bounds how many connections a tenant and a user may hold. PostgreSQL's connections plan without looking at values and
//! never read a whole table that has an index, so plans do not depend on statistics.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use entity::server;
use sea_orm::metric::Info;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, EntityTrait, Statement};
use tokio::task::AbortHandle;
use tracing::Instrument;

use crate::board::Board;
use crate::clock::Millis;
use crate::error::{Ailment, Error, Result};
use crate::hub::Hub;

mod act;
mod alone;
mod any;
mod backup;
mod connect;
mod encoding;
mod epoch;
mod generated;
mod granted;
mod handle;
mod health;
mod hosts;
mod lineage;
mod lost;
mod migrate;
mod pool;
mod pooler;
mod share;
mod sound;
mod sql;
mod together;

pub use act::Act;
pub use alone::{Held, Use, file_of};
pub use backup::{Copy, backup};
pub use connect::{ACQUIRE_TIMEOUT, connect, open, without_a_trace};
pub use generated::{TABLES as GENERATED, raise as raise_generated};
pub use handle::{Reader, Transaction};
pub use hosts::each_host;
pub use lineage::{Fence, Lineage, passing};
pub use pool::hurried;
pub use share::Party;
pub use sql::Sql;
pub use together::{Bounds, Together};

use any::Any;
use handle::Observers;
use health::Health;
use lost::{TRIES, lost_to_another, pause};
use share::Shares;

/// The connections of this process.
///
/// On SQLite `write` is a single connection, for there is one writer at a time anyway and waiting in our own
/// queue is cheaper than in SQLite's; elsewhere both are the same pool.
#[derive(Clone, Debug)]
pub struct Database {
    /// For statements outside of transactions, which change nothing.
    pub read: Reader,
    write: Any,
    /// For looking after the database, however much others want of it.
    aside: Any,
    shares: Arc<Shares>,
    /// Closed while connections lead to another lineage than this process goes by.
    pub fence: Arc<Fence>,
    _watch: Arc<Watch>,
    /// Is told what transactions have to tell.
    hub: Arc<Hub>,
    /// What they change is taken off it.
    board: Option<Arc<Board>>,
}

impl Database {
    /// `file` is where SQLite keeps it.
    fn over((read, write): (Any, Any), aside: Any, fence: Arc<Fence>, file: Option<&Path>) -> Self {
        let health = Arc::new(Health::new(file, fence.clone()));
        let listens = (read.backend() != DbBackend::Sqlite).then(|| aside.clone());
        let watch = tokio::spawn(health.clone().look_after(listens, write.clone())).abort_handle();
        let shares = Arc::new(Shares::of(write.many()));
        let reading = Arc::new(Shares::of(read.many()));
        let read = Reader {
            connections: read,
            shares: reading,
            observers: Observers::default(),
            health,
            fence: fence.clone(),
        };
        Self { read, write, aside, shares, fence, _watch: Arc::new(Watch(watch)), hub: Arc::default(), board: None }
    }

    /// What ails the database, as far as that is known without asking it: whether it hangs, takes no writes, or is gone.
    pub fn ailment(&self) -> Option<Ailment> {
        self.read.health.ailment()
    }

    /// Whether an answer has come from it of late, in the last 2.5 s at the most.
    pub fn answers(&self) -> bool {
        self.read.health.has_answered()
    }

    /// How long a request waits for a connection that writes.
    pub fn write_patience(&self) -> Duration {
        self.write.patience()
    }

    /// Transactions that begin from now on tell this hub what they have to tell.
    pub fn tells(&mut self, hub: Arc<Hub>) {
        self.hub = hub;
    }

    /// What transactions change that begin from now on is taken off this board before they are acknowledged.
    pub fn clears(&mut self, board: Arc<Board>) {
        self.board = Some(board);
    }

    /// Calls `observer` after every statement, with its text and how long it took, besides whoever is called already. Begin
    /// and commit are no statements, nor are migrations. Copies that were made before are not observed.
    pub fn observe(&mut self, observer: impl Fn(&Info<'_>) + Send + Sync + 'static) {
        self.read.observers.0.push(Arc::new(observer));
    }

    /// Which of the three databases it is.
    pub fn backend(&self) -> DbBackend {
        self.read.get_database_backend()
    }

    /// Each pool's name, how many connections it has, and how many of them are idle.
    pub fn pools(&self) -> Vec<(&'static str, usize, usize)> {
        let count = |name, connections: &Any| {
            let (open, idle) = connections.count();
            (name, open, idle)
        };
        match self.backend() {
            DbBackend::Sqlite => vec![count("read", &self.read.connections), count("write", &self.write)],
            _ => vec![count("shared", &self.write)],
        }
    }

    /// What this database calls itself, by which the nodes over it know each other elsewhere.
    pub async fn name(&self) -> Result<String> {
        let name = server::Entity::find_by_id("name").one(&self.read).await?;
        Ok(name.ok_or_else(|| Error::internal("the database has no name"))?.value)
    }

    /// What time it is for the database, in milliseconds since 1970. SQLite has no clock of its own, and cannot say.
    pub async fn time(&self) -> Result<Millis> {
        let words = match self.backend() {
            DbBackend::Postgres => {
                "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS millis"
            }
            DbBackend::MySql => "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS millis",
            _ => return Err(Error::internal("this database has no clock")),
        };
        let row = self.aside().query_one_raw(Statement::from_string(self.backend(), words)).await?;
        Ok(row.ok_or_else(|| Error::internal("the database does not say what time it is"))?.try_get("", "millis")?)
    }

    /// Asks the database for its lineage. `None` if it has none, as in memory.
    pub async fn lineage(&self) -> Result<Option<Lineage>> {
        match self.backend() {
            DbBackend::Sqlite => Ok(self.fence.met()),
            _ => Ok(self.aside.lend().await?.look().await?),
        }
    }

    /// Closes the connections at rest that lead elsewhere than the fence admits.
    pub async fn close_strays(&self) {
        self.write.close_strays().await;
        self.aside.close_strays().await;
    }

    /// Reads by the connection that is kept for looking after the database.
    fn aside(&self) -> Reader {
        Reader { connections: self.aside.clone(), ..self.read.clone() }
    }

    /// Begins a transaction that may write; see `transaction!`, which also ends it.
    pub async fn begin(&self) -> Result<Transaction> {
        let Reader { health, observers, .. } = &self.read;
        let watched = (health.clone(), observers.clone());
        let told = (self.hub.clone(), self.board.clone());
        Ok(Transaction::begin((&self.write, &self.fence), &self.shares, watched, told).await?)
    }

    /// Has SQLite take what its log has into the file. The last connection would, but the process may end before that one has.
    async fn write_down(&self) {
        if self.backend() != DbBackend::Sqlite {
            return;
        }
        if let Ok(mut lent) = self.write.lend().await {
            // A connection that has read nothing since the file was made waits for itself. Where it cannot be done, whoever opens the
            // file next reads the log as well.
            let _ = lent.run_text("PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)").await;
        }
    }

    /// Closes every connection, those in use once they are not.
    pub async fn close(&self) {
        self.read.connections.close().await;
        self.write.close().await;
        self.aside.close().await;
    }
}

/// Looks after the database until this is dropped.
#[derive(Debug)]
struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// `transaction!(app.db, |txn| work)` runs `work` in a transaction, and again (at most eight times, after pauses that grow) when it lost
/// to a concurrent one. `UNAVAILABLE` where it loses every time.
///
/// Nothing of it stays when it fails or its caller goes away before the end. What others must hear of it is told by
/// `txn.tell`. `work` may run several times, so what it changes outside of the transaction must be the same each time. A
/// macro, since the compiler cannot tell yet that the future of an asynchronous closure over borrowed arguments may be sent
/// between threads.
macro_rules! transaction {
    ($db:expr, |$txn:ident| $work:expr) => {
        // Boxed, since statements take much room while they are made.
        $crate::database::traced(Box::pin(async {
            let mut tries = $crate::database::Tries::default();
            loop {
                let begun = $db.begin().await?;
                let $txn = &begun;
                let result = $crate::database::fallible(async { $work }).await;
                if let Some(result) = tries.end(begun, result).await {
                    break result;
                }
            }
        }))
        .await
    };
}
pub(crate) use transaction;

/// Lets the compiler know what the work in a `transaction!` returns.
pub async fn fallible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.await
}

/// A transaction with all its tries, as one span of a trace.
pub async fn traced<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.instrument(tracing::debug_span!(target: "tidings::trace", "transaction")).await
}

/// How often a transaction was tried.
#[derive(Debug, Default)]
pub struct Tries(u32);

impl Tries {
    async fn committed(txn: Transaction) -> Result<()> {
        Act::write_within(&txn).await?;
        let has_changed = txn.has_changed();
        txn.commit().await?;
        if has_changed {
            Act::is_written();
        }
        Ok(())
    }

    /// Commits what succeeded; nothing where it is to be tried again.
    pub async fn end<T>(&mut self, txn: Transaction, result: Result<T>) -> Option<Result<T>> {
        let result = match result {
            Ok(value) => Self::committed(txn).await.map(|()| value),
            Err(error) => {
                // Where it cannot be taken back, the connection is closed, which does; why it failed is what counts.
                let _ = txn.rollback().await;
                Err(error)
            }
        };
        match result {
            Err(Error::Internal(cause)) if lost_to_another(&*cause) => {
                if self.0 == TRIES {
                    return Some(Err(Error::held()));
                }
                self.0 += 1;
                tokio::time::sleep(pause(self.0)).await;
                None
            }
            result => Some(result),
        }
    }
}

/// Whether a statement broke a unique key.
pub fn is_duplicate(error: &Error) -> bool {
    let Error::Internal(cause) = error else { return false };
    cause
        .downcast_ref::<DbErr>()
        .and_then(DbErr::sql_err)
        .is_some_and(|kind| matches!(kind, sea_orm::SqlErr::UniqueConstraintViolation(_)))
}

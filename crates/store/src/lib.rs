//! The database: connecting to the one that the URL names, its transactions and its migrations.
//!
//! Ordinary statements are entity calls, written where they are used. `entity/src/statement` adds what SeaORM lacks:
//! rows of one tenant or user, lists padded to powers of two so that statements stay prepared, and row locks in each
//! SQL dialect. Statements that depend on a particular plan are written by hand in `queries.rs` files next to their
//! module, with a row type and a comment on index and cost. Values are always bound. A list in a statement has at most
//! 1,000 entries.
//!
//! SQLite allows one writer: transactions run `BEGIN IMMEDIATE` on a single connection (`connect`). `pool` is the
//! connection pool (deadpool over the drivers' connections; sqlx's own pool spends a round trip on every return).
//! `health` checks every second that the database responds. `fair_share` limits the connections of each tenant and user. On
//! PostgreSQL, connections use generic plans and never scan a whole table that has an index, so plans do not depend on
//! statistics.
//!
//! Knows `model` and `cluster`: [`Store`] holds the caches of values and publishes the notices of commits. It knows no
//! noun of the domain.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use entity::server;
use sea_orm::metric::Info;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, EntityTrait, Statement};
use tokio::task::AbortHandle;
use tracing::Instrument;

use base::clock::Millis;
use base::error::{DatabaseFailure, Error, Result};
use cluster::hub::Hub;
use cluster::invalidation::InvalidationStore;

mod any_pool;
mod backup;
mod batcher;
mod caches;
mod connect;
mod encoding;
mod epoch_task;
mod fair_share;
mod file_lock;
mod handles;
mod health;
mod host_urls;
mod integrity;
mod invalidation_epoch;
mod lineage;
mod migrate;
mod pending_audit;
mod pool;
mod pooler;
mod retry;
mod sequences;
mod server_limits;
mod sql;
mod store;

pub use backup::{BackupStats, backup};
pub use batcher::{BatchLimits, Batcher};
pub use caches::Caches;
pub use connect::{ACQUIRE_TIMEOUT, connect, open, open_existing};
pub use fair_share::Principal;
pub use file_lock::{FileAccess, FileLock, sqlite_path};
pub use handles::{ReadPool, Transaction};
pub use host_urls::urls_by_host;
pub use lineage::{DatabaseLineage, LineageFence, bypass_fence};
pub use pending_audit::PendingAudit;
pub use pool::with_deadline;
pub use sequences::{TABLES as GENERATED, advance as raise_generated};
pub use sql::SqlBuilder;
pub use store::{Store, VERSION};

use any_pool::AnyPool;
use fair_share::FairShareLimiter;
use handles::StatementObservers;
use health::DatabaseHealth;
use retry::{TRIES, backoff, is_retryable};

/// The connection pools of this process.
///
/// On SQLite, `write` is a single connection: SQLite has one writer at a time anyway, and waiting in our queue is
/// cheaper than in SQLite's. On the other databases `read` and `write` are the same pool.
#[derive(Clone, Debug)]
pub struct Database {
    /// Runs read-only statements outside of transactions.
    pub read: ReadPool,
    write: AnyPool,
    /// A separate connection for health checks and maintenance, so that load on the main pool cannot block them.
    aside: AnyPool,
    shares: Arc<FairShareLimiter>,
    /// Closed while connections lead to a different lineage than the one this process uses.
    pub fence: Arc<LineageFence>,
    _watch: Arc<HealthCheckTask>,
    /// Receives the notices of committed transactions.
    hub: Arc<Hub>,
    /// The invalidation tokens in Redis. Commits delete those that they affect.
    invalidation: Option<Arc<InvalidationStore>>,
}

impl Database {
    /// `file` is the path of the SQLite database, if there is one.
    fn from_pools(
        (read, write): (AnyPool, AnyPool),
        aside: AnyPool,
        fence: Arc<LineageFence>,
        file: Option<&Path>,
    ) -> Self {
        let health = Arc::new(DatabaseHealth::new(file, fence.clone()));
        let listens = (read.backend() != DbBackend::Sqlite).then(|| aside.clone());
        let watch = tokio::spawn(health.clone().run_checks(listens, write.clone())).abort_handle();
        let shares = Arc::new(FairShareLimiter::for_connections(write.max_connections()));
        let reading = Arc::new(FairShareLimiter::for_connections(read.max_connections()));
        let read = ReadPool {
            connections: read,
            shares: reading,
            observers: StatementObservers::default(),
            health,
            fence: fence.clone(),
        };
        Self {
            read,
            write,
            aside,
            shares,
            fence,
            _watch: Arc::new(HealthCheckTask(watch)),
            hub: Arc::default(),
            invalidation: None,
        }
    }

    /// The current failure of the database, if any, without a query: it hangs, refuses writes, or is unreachable.
    pub fn current_failure(&self) -> Option<DatabaseFailure> {
        self.read.health.current_failure()
    }

    /// Whether the database has responded to anything recently (within 2.5 s).
    pub fn is_responding(&self) -> bool {
        self.read.health.has_responded()
    }

    /// How long a request waits for a write connection.
    pub fn write_timeout(&self) -> Duration {
        self.write.acquire_timeout()
    }

    /// Sets the hub that receives the notices of transactions started from now on.
    pub fn set_hub(&mut self, hub: Arc<Hub>) {
        self.hub = hub;
    }

    /// Sets the invalidation store: transactions started from now on delete the tokens that they affect before they are
    /// acknowledged.
    pub fn set_invalidation(&mut self, invalidation: Arc<InvalidationStore>) {
        self.invalidation = Some(invalidation);
    }

    /// Adds an observer, called after every statement with its text and duration. `BEGIN`, `COMMIT` and migrations are
    /// not observed. Clones made earlier are not affected.
    pub fn add_observer(&mut self, observer: impl Fn(&Info<'_>) + Send + Sync + 'static) {
        self.read.observers.0.push(Arc::new(observer));
    }

    /// Which of the three databases this is.
    pub fn backend(&self) -> DbBackend {
        self.read.get_database_backend()
    }

    /// For each pool: its name, the number of open connections, and how many of them are idle.
    pub fn pool_counts(&self) -> Vec<(&'static str, usize, usize)> {
        let count = |name, connections: &AnyPool| {
            let (open, idle) = connections.connection_counts();
            (name, open, idle)
        };
        match self.backend() {
            DbBackend::Sqlite => vec![count("read", &self.read.connections), count("write", &self.write)],
            _ => vec![count("shared", &self.write)],
        }
    }

    /// The name of this database. Nodes of the same database recognize each other by it.
    pub async fn name(&self) -> Result<String> {
        let name = server::Entity::find_by_id("name").one(&self.read).await?;
        Ok(name.ok_or_else(|| Error::internal("the database has no name"))?.value)
    }

    /// The database's time, in milliseconds since 1970. Fails on SQLite, which has no clock of its own.
    pub async fn server_time(&self) -> Result<Millis> {
        let words = match self.backend() {
            DbBackend::Postgres => {
                "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS millis"
            }
            DbBackend::MySql => "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS millis",
            _ => return Err(Error::internal("this database has no clock")),
        };
        let row = self.maintenance_reader().query_one_raw(Statement::from_string(self.backend(), words)).await?;
        Ok(row.ok_or_else(|| Error::internal("the database did not return its time"))?.try_get("", "millis")?)
    }

    /// Asks the database for its lineage. `None` if it has none, such as an in-memory database.
    pub async fn query_lineage(&self) -> Result<Option<DatabaseLineage>> {
        match self.backend() {
            DbBackend::Sqlite => Ok(self.fence.newest_lineage()),
            _ => Ok(self.aside.acquire().await?.query_lineage().await?),
        }
    }

    /// Closes idle connections that lead to a lineage the fence does not admit.
    pub async fn close_stale(&self) {
        self.write.close_stale().await;
        self.aside.close_stale().await;
    }

    /// A reader on the maintenance connection.
    fn maintenance_reader(&self) -> ReadPool {
        ReadPool { connections: self.aside.clone(), ..self.read.clone() }
    }

    /// Begins a transaction that may write. The `transaction!` macro also ends it.
    pub async fn begin(&self) -> Result<Transaction> {
        let ReadPool { health, observers, .. } = &self.read;
        let watched = (health.clone(), observers.clone());
        let told = (self.hub.clone(), self.invalidation.clone());
        Ok(Transaction::begin((&self.write, &self.fence), &self.shares, watched, told).await?)
    }

    /// Checkpoints SQLite's WAL into the file. Closing the last connection would do so too, but the process may end
    /// before that.
    async fn checkpoint(&self) {
        if self.backend() != DbBackend::Sqlite {
            return;
        }
        if let Ok(mut lent) = self.write.acquire().await {
            // `PRAGMA schema_version` comes first: on a connection that has not read since the file was created, the
            // checkpoint blocks on itself. A failure is harmless, because the next process to open the file also reads
            // the WAL.
            let _ = lent.execute_simple("PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)").await;
        }
    }

    /// Closes every connection; a connection in use is closed when it is released.
    pub async fn close(&self) {
        self.read.connections.close().await;
        self.write.close().await;
        self.aside.close().await;
    }
}

/// Aborts the health check task on drop.
#[derive(Debug)]
struct HealthCheckTask(AbortHandle);

impl Drop for HealthCheckTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// `transaction!(app.db, |txn| work)` runs `work` in a transaction. If the transaction loses to a concurrent one, it is
/// retried up to eight times with growing pauses; after that the result is `UNAVAILABLE`.
///
/// The transaction is rolled back if `work` fails or the caller is dropped before the end. Notices are published with
/// `txn.notify`. `work` may run several times, so its effects outside of the transaction must be idempotent. This is a
/// macro because the compiler cannot yet prove that the future of an async closure over borrowed arguments is `Send`.
#[macro_export]
macro_rules! transaction {
    ($db:expr, |$txn:ident| $work:expr) => {
        // Boxed, because futures of statements are large.
        $crate::trace_transaction(Box::pin(async {
            let mut tries = $crate::TransactionRetries::default();
            loop {
                let begun = $db.begin().await?;
                let $txn = &begun;
                let result = $crate::typed_result(async { $work }).await;
                if let Some(result) = tries.finish(begun, result).await {
                    break result;
                }
            }
        }))
        .await
    };
}
/// Tells the compiler the result type of the work in a `transaction!`.
pub async fn typed_result<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.await
}

/// Traces a transaction with all its attempts as one span.
pub async fn trace_transaction<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.instrument(tracing::debug_span!(target: "tidings::trace", "transaction")).await
}

/// Counts the retries of a transaction.
#[derive(Debug, Default)]
pub struct TransactionRetries(u32);

impl TransactionRetries {
    async fn commit_with_audit(txn: Transaction) -> Result<()> {
        PendingAudit::write_pending(&txn).await?;
        let has_changed = txn.has_changed();
        txn.commit().await?;
        if has_changed {
            PendingAudit::clear_pending();
        }
        Ok(())
    }

    /// Commits on success and rolls back on failure. `None` if the transaction must be retried.
    pub async fn finish<T>(&mut self, txn: Transaction, result: Result<T>) -> Option<Result<T>> {
        let result = match result {
            Ok(value) => Self::commit_with_audit(txn).await.map(|()| value),
            Err(error) => {
                // If the rollback fails, the connection is closed, which rolls back too; the caller needs the original
                // error.
                let _ = txn.rollback().await;
                Err(error)
            }
        };
        match result {
            Err(Error::Internal(cause)) if is_retryable(&*cause) => {
                if self.0 == TRIES {
                    return Some(Err(Error::lock_unavailable()));
                }
                self.0 += 1;
                tokio::time::sleep(backoff(self.0)).await;
                None
            }
            result => Some(result),
        }
    }
}

/// Whether a statement violated a unique key.
pub fn is_duplicate_key(error: &Error) -> bool {
    let Error::Internal(cause) = error else { return false };
    cause
        .downcast_ref::<DbErr>()
        .and_then(DbErr::sql_err)
        .is_some_and(|kind| matches!(kind, sea_orm::SqlErr::UniqueConstraintViolation(_)))
}

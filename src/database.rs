//! The database: connecting to the one that the URL names, its transactions and its migrations.

use std::sync::Arc;
use std::time::Duration;

use migration::{Migrator, MigratorTrait};
use sea_orm::metric::Info;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, DbErr, RuntimeErr, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait,
};
use tracing::Instrument;

use crate::error::{Error, Result};

mod any;
mod connect;
mod handle;
mod pool;

pub use connect::{ACQUIRE_TIMEOUT, connect};
pub use handle::{Reader, Transaction};

use any::Any;
use handle::Observers;

/// How often a transaction that lost to another one is tried again before the caller is told.
const TRIES: u32 = 8;

/// Serialises the migrations of nodes that start at once. The number is "tidings" read as a base-36 number.
const MIGRATION_LOCK: i64 = 64_008_527_908;

/// The connections of this process.
///
/// On SQLite `write` is a single connection, for there is one writer at a time anyway and waiting in our own
/// queue is cheaper than in SQLite's; elsewhere both are the same pool.
#[derive(Clone, Debug)]
pub struct Database {
    /// For statements outside of transactions, which change nothing.
    pub read: Reader,
    write: Any,
}

impl Database {
    fn over(read: Any, write: Any) -> Self {
        Self { read: Reader { connections: read, observers: Observers::default() }, write }
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
        let name = Statement::from_string(self.backend(), "SELECT value FROM server WHERE name = 'name'");
        let row = self.read.query_one_raw(name).await?;
        Ok(row.ok_or_else(|| Error::internal("the database has no name"))?.try_get("", "value")?)
    }

    /// Begins a transaction that may write; see `transaction!`, which also ends it.
    pub async fn begin(&self) -> Result<Transaction> {
        Ok(Transaction::begin(&self.write, self.read.observers.clone()).await?)
    }

    /// Applies what migrations are missing. Nodes that start at once wait for each other.
    pub async fn migrate(&self) -> Result<()> {
        let db = connect::for_migrations(&self.write).await?;
        let migrated = self.migrate_over(&db).await;
        db.close().await?;
        migrated
    }

    async fn migrate_over(&self, db: &DatabaseConnection) -> Result<()> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await?;
        let (lock, unlock) = match self.backend() {
            DbBackend::Postgres => (Some(format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")), None),
            // MySQL commits before each change of a table, so that only a lock of the session lasts.
            DbBackend::MySql => {
                let name = format!("CONCAT('tidings', {MIGRATION_LOCK}, DATABASE())");
                (Some(format!("SELECT GET_LOCK({name}, 60)")), Some(format!("SELECT RELEASE_LOCK({name})")))
            }
            _ => (None, None),
        };
        let session_statement = |text: String| Statement::from_string(self.backend(), text);
        if let Some(lock) = lock {
            let answer = txn.query_one_raw(session_statement(lock)).await?;
            let is_held = match answer {
                Some(row) if unlock.is_some() => row.try_get_by_index::<Option<i64>>(0)? == Some(1),
                _ => true,
            };
            if !is_held {
                return Err(Error::Unavailable("another node has been migrating the database for a minute".into()));
            }
        }
        let migrated = Migrator::up(&txn, None).await;
        if let Some(unlock) = unlock {
            txn.query_one_raw(session_statement(unlock)).await?;
        }
        migrated?;
        txn.commit().await?;
        Ok(())
    }

    /// Takes all migrations back, and with them everything that is stored.
    pub async fn unmigrate(&self) -> Result<()> {
        let db = connect::for_migrations(&self.write).await?;
        let unmigrated = Migrator::down(&db, None).await;
        db.close().await?;
        Ok(unmigrated?)
    }

    /// How many migrations this program has that the database has not. It only reads, so that it waits for no writer.
    pub async fn pending_migrations(&self) -> Result<usize> {
        Ok(Migrator::get_pending_migrations_read_only(&self.read).await?.len())
    }

    /// Closes every connection, those in use once they are not.
    pub async fn close(&self) {
        self.read.connections.close().await;
        self.write.close().await;
    }
}

/// `transaction!(app.db, |txn| work)` runs `work` in a transaction, and again (at most eight times) when it lost to a
/// concurrent one.
///
/// Nothing of it stays when it fails or its caller goes away. `work` may run several times, so what it changes outside
/// of the transaction must be the same each time. A macro, since the compiler cannot tell yet that the future of an
/// asynchronous closure over borrowed arguments may be sent between threads.
macro_rules! transaction {
    ($db:expr, |$txn:ident| $work:expr) => {
        $crate::database::traced(async {
            let mut tries = $crate::database::Tries::default();
            loop {
                let begun = $db.begin().await?;
                let $txn = &begun;
                let result = $crate::database::fallible(async { $work }).await;
                if let Some(result) = tries.end(begun, result).await {
                    break result;
                }
            }
        })
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
    /// Commits what succeeded; nothing where it is to be tried again.
    pub async fn end<T>(&mut self, txn: Transaction, result: Result<T>) -> Option<Result<T>> {
        let result = match result {
            Ok(value) => txn.commit().await.map(|()| value).map_err(Error::from),
            Err(error) => txn.rollback().await.map_or_else(|lost| Err(lost.into()), |()| Err(error)),
        };
        match result {
            Err(Error::Internal(cause)) if self.0 < TRIES && lost_to_another(&*cause) => {
                self.0 += 1;
                tokio::time::sleep(Duration::from_millis(1 << self.0)).await;
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

/// Deadlocks, serialisation failures and lock time-outs: the database rolled back, and asks to try again.
fn lost_to_another(cause: &(dyn std::error::Error + 'static)) -> bool {
    let Some(DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) =
        cause.downcast_ref::<DbErr>()
    else {
        return false;
    };
    let sqlx::Error::Database(cause) = &**cause else { return false };
    // PostgreSQL and MySQL: SQLSTATE class 40. MySQL's lock wait time-out hides behind HY000. SQLite: busy.
    match cause.code().as_deref() {
        Some(code) if code.starts_with("40") && code.len() == 5 => true,
        Some("5" | "517" | "261") => true,
        Some("HY000") => cause.message().contains("try restarting transaction"),
        _ => false,
    }
}

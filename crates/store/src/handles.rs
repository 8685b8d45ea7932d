//! Readers and transactions: the handles that run statements.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use parking_lot::Mutex as Lock;
use sea_orm::metric::Info;
use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnAcquireErr, ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout, timeout_at};

use super::any_pool::{AnyConnection, AnyPool};
use super::fair_share::{FairShareLimiter, FairSharePermit, Principal};
use super::health::DatabaseHealth;
use super::lineage::LineageFence;
use super::pool::with_deadline;
use super::retry::{TRIES, backoff, is_retryable};
use base::error::DatabaseFailure;
use cluster::hub::{Hub, Notice};
use cluster::invalidation::InvalidationStore;

/// How long a rollback may take.
const ROLLBACK: Duration = Duration::from_secs(1);

type StatementObserver = dyn Fn(&Info<'_>) + Send + Sync;

/// Functions that are called after each statement.
#[derive(Clone, Default)]
pub(super) struct StatementObservers(pub Vec<Arc<StatementObserver>>);

impl Debug for StatementObservers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl StatementObservers {
    /// Runs `work`, then calls every observer.
    async fn observe<T>(
        &self,
        statement: &Statement,
        work: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        let started = Instant::now();
        let result = work.await;
        let info = Info { elapsed: started.elapsed(), statement, failed: result.is_err() };
        self.0.iter().for_each(|observer| observer(&info));
        result
    }
}

/// Runs read-only statements, each on any free connection.
#[derive(Clone, Debug)]
pub struct ReadPool {
    pub(super) connections: AnyPool,
    pub(super) shares: Arc<FairShareLimiter>,
    pub(super) observers: StatementObservers,
    pub(super) health: Arc<DatabaseHealth>,
    pub(super) fence: Arc<LineageFence>,
}

/// Runs a read-only statement, and retries it after a conflict, for example with a newer node that changes the tables.
macro_rules! again {
    ($run:expr) => {{
        let mut tries = 0;
        loop {
            match $run.await {
                Err(error) if is_retryable(&error) && tries == TRIES => break Err(DatabaseFailure::Held.to_error()),
                Err(error) if is_retryable(&error) => {
                    tries += 1;
                    sleep(backoff(tries)).await;
                }
                done => break done,
            }
        }
    }};
}

impl ReadPool {
    async fn acquire(&self) -> Result<(FairSharePermit, AnyConnection), DbErr> {
        self.health.check_responding()?;
        acquire_connection(&self.connections, &self.fence, self.shares.acquire_read()).await
    }
}

#[async_trait]
impl ConnectionTrait for ReadPool {
    fn get_database_backend(&self) -> DbBackend {
        self.connections.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let (_share, mut lent) = self.acquire().await?;
        self.observers.observe(&statement, self.health.run_bounded(lent.execute(&statement))).await
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let (_share, mut lent) = self.acquire().await?;
        self.health.run_bounded(lent.execute_simple(text)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let (_share, mut lent) = self.acquire().await?;
        again!(self.observers.observe(&statement, self.health.run_bounded(lent.query_one(&statement))))
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let (_share, mut lent) = self.acquire().await?;
        again!(self.observers.observe(&statement, self.health.run_bounded(lent.query_all(&statement))))
    }
}

/// Waits for a permit of the current principal and for a connection, with one timeout for both.
///
/// Fails if the request already used a connection in an earlier era: its earlier reads may be outdated.
async fn acquire_connection(
    connections: &AnyPool,
    fence: &LineageFence,
    place: impl Future<Output = FairSharePermit>,
) -> Result<(FairSharePermit, AnyConnection), DbErr> {
    let until = connections.acquire_deadline();
    let late = |_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
    let share = timeout_at(until, place).await.map_err(late)?;
    let lent = with_deadline(until, connections.acquire()).await?;
    if Principal::is_in_era(fence.era()) { Ok((share, lent)) } else { Err(DatabaseFailure::Away.to_error()) }
}

/// A transaction. It is rolled back on drop.
#[derive(Debug)]
pub struct Transaction {
    connection: Mutex<AnyConnection>,
    /// Held as long as the connection.
    share: FairSharePermit,
    backend: DbBackend,
    observers: StatementObservers,
    health: Arc<DatabaseHealth>,
    hub: Arc<Hub>,
    invalidation: Option<Arc<InvalidationStore>>,
    /// Notices for open sessions, published after the commit.
    notices: Lock<Vec<Notice>>,
    /// Whether one of its statements has changed a row.
    changed: AtomicBool,
}

impl Transaction {
    pub(super) async fn begin(
        (connections, fence): (&AnyPool, &LineageFence),
        shares: &FairShareLimiter,
        (health, observers): (Arc<DatabaseHealth>, StatementObservers),
        (hub, invalidation): (Arc<Hub>, Option<Arc<InvalidationStore>>),
    ) -> Result<Self, DbErr> {
        health.check_responding()?;
        health.check_file()?;
        let (share, mut lent) = acquire_connection(connections, fence, shares.acquire()).await?;
        health.run_bounded(lent.begin()).await.map_err(|error| health.note_error(error))?;
        Ok(Self {
            connection: Mutex::new(lent),
            share,
            backend: connections.backend(),
            observers,
            health,
            hub,
            invalidation,
            notices: Lock::default(),
            changed: AtomicBool::new(false),
        })
    }

    /// Publishes this notice to open sessions, here and on other nodes, once the transaction is committed, even if the
    /// caller is gone by then. After a rollback, nothing is published.
    pub fn notify(&self, notice: Notice) {
        if !notice.is_empty() {
            self.notices.lock().push(notice);
        }
    }

    /// Whether one of its statements has changed anything.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Relaxed)
    }

    /// Notes whether a statement changed anything: it is not a SELECT, and affected or returned rows.
    fn note_change(&self, statement: &Statement, rows: u64) {
        if rows > 0 && !statement.sql.starts_with("SELECT") {
            self.changed.store(true, Relaxed);
        }
    }

    /// Commits, deletes the invalidation tokens that it affects, and publishes the notices.
    ///
    /// If there are notices, this continues even if the caller is dropped. It publishes them even if the response to
    /// the commit was lost, so that the outcome is unknown: an unnecessary notice is harmless.
    pub async fn commit(self) -> Result<(), DbErr> {
        let Self { connection, share, health, hub, invalidation, notices, .. } = self;
        let mut lent = connection.into_inner();
        let notices = notices.into_inner();
        let committed = async move {
            let ended =
                health.track_commit(lent.end_transaction("COMMIT")).await.map_err(|error| health.note_error(error));
            // Checked while the connection is open, because the last one to close deletes SQLite's log.
            let kept = ended.and_then(|()| health.check_file_and_log());
            drop((lent, share));
            kept
        };
        if notices.is_empty() {
            return committed.await;
        }
        let committing = tokio::spawn(async move {
            let mut ended = committed.await;
            if let Some(invalidation) = invalidation
                && !invalidation.invalidate(&notices).await
            {
                // Other nodes may still serve the old state, so the commit must not be acknowledged.
                ended = ended.and(Err(DatabaseFailure::Away.to_error()));
            }
            for notice in notices {
                hub.publish(notice);
            }
            ended
        });
        committing.await.unwrap_or_else(|cause| Err(DbErr::Custom(format!("a commit was aborted: {cause}"))))
    }

    async fn observe<T>(
        &self,
        statement: &Statement,
        work: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        let done = self.observers.observe(statement, self.health.run_bounded(work)).await;
        done.map_err(|error| self.health.note_error(error))
    }

    /// Rolls back. If that takes too long, for example after a cancelled statement, the connection is closed instead.
    pub async fn rollback(self) -> Result<(), DbErr> {
        let mut lent = self.connection.into_inner();
        let ended = timeout(ROLLBACK, lent.end_transaction("ROLLBACK")).await;
        ended.unwrap_or_else(|_| Err(DatabaseFailure::Slow.to_error()))
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        self.backend
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut lent = self.connection.lock().await;
        let done = self.observe(&statement, lent.execute(&statement)).await?;
        self.note_change(&statement, done.rows_affected());
        Ok(done)
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let mut lent = self.connection.lock().await;
        self.health.run_bounded(lent.execute_simple(text)).await.map_err(|error| self.health.note_error(error))
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        let row = self.observe(&statement, lent.query_one(&statement)).await?;
        self.note_change(&statement, row.is_some().into());
        Ok(row)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        let rows = self.observe(&statement, lent.query_all(&statement)).await?;
        self.note_change(&statement, rows.len() as u64);
        Ok(rows)
    }
}

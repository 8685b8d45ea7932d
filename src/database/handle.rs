//! Readers and transactions: the handles that run statements.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex as Lock;
use sea_orm::metric::Info;
use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnAcquireErr, ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout, timeout_at};

use super::any::{Any, AnyLent};
use super::health::Health;
use super::lineage::Fence;
use super::lost::{TRIES, lost_to_another, pause};
use super::pool::hurried;
use super::share::{Party, Share, Shares};
use crate::board::Board;
use crate::error::Ailment;
use crate::hub::{Hub, Notice};

/// How long a rollback may take.
const ROLLBACK: Duration = Duration::from_secs(1);

type Observer = dyn Fn(&Info<'_>) + Send + Sync;

/// Functions that are called after each statement.
#[derive(Clone, Default)]
pub(super) struct Observers(pub Vec<Arc<Observer>>);

impl Debug for Observers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl Observers {
    /// Runs `work`, then calls every observer.
    async fn watch<T>(&self, statement: &Statement, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let started = Instant::now();
        let result = work.await;
        let info = Info { elapsed: started.elapsed(), statement, failed: result.is_err() };
        self.0.iter().for_each(|observer| observer(&info));
        result
    }
}

/// Runs read-only statements, each on any free connection.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) connections: Any,
    pub(super) shares: Arc<Shares>,
    pub(super) observers: Observers,
    pub(super) health: Arc<Health>,
    pub(super) fence: Arc<Fence>,
}

/// Runs a read-only statement, and retries it after a conflict, for example with a newer node that changes the tables.
macro_rules! again {
    ($run:expr) => {{
        let mut tries = 0;
        loop {
            match $run.await {
                Err(error) if lost_to_another(&error) && tries == TRIES => break Err(Ailment::Held.error()),
                Err(error) if lost_to_another(&error) => {
                    tries += 1;
                    sleep(pause(tries)).await;
                }
                done => break done,
            }
        }
    }};
}

impl Reader {
    async fn lend(&self) -> Result<(Share, AnyLent), DbErr> {
        self.health.answers()?;
        lent(&self.connections, &self.fence, self.shares.turn()).await
    }
}

#[async_trait]
impl ConnectionTrait for Reader {
    fn get_database_backend(&self) -> DbBackend {
        self.connections.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let (_share, mut lent) = self.lend().await?;
        self.observers.watch(&statement, self.health.bound(lent.run(&statement))).await
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let (_share, mut lent) = self.lend().await?;
        self.health.bound(lent.run_text(text)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let (_share, mut lent) = self.lend().await?;
        again!(self.observers.watch(&statement, self.health.bound(lent.one(&statement))))
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let (_share, mut lent) = self.lend().await?;
        again!(self.observers.watch(&statement, self.health.bound(lent.all(&statement))))
    }
}

/// Waits for a permit of the current principal and for a connection, with one timeout for both.
///
/// Fails if the request already used a connection in an earlier era: its earlier reads may be outdated.
async fn lent(connections: &Any, fence: &Fence, place: impl Future<Output = Share>) -> Result<(Share, AnyLent), DbErr> {
    let until = connections.waits_until();
    let late = |_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
    let share = timeout_at(until, place).await.map_err(late)?;
    let lent = hurried(until, connections.lend()).await?;
    if Party::is_of(fence.era()) { Ok((share, lent)) } else { Err(Ailment::Away.error()) }
}

/// A transaction. It is rolled back on drop.
#[derive(Debug)]
pub struct Transaction {
    connection: Mutex<AnyLent>,
    /// Held as long as the connection.
    share: Share,
    backend: DbBackend,
    observers: Observers,
    health: Arc<Health>,
    hub: Arc<Hub>,
    board: Option<Arc<Board>>,
    /// Notices for open sessions, published after the commit.
    notices: Lock<Vec<Notice>>,
    /// Whether one of its statements has changed a row.
    changed: AtomicBool,
}

impl Transaction {
    pub(super) async fn begin(
        (connections, fence): (&Any, &Fence),
        shares: &Shares,
        (health, observers): (Arc<Health>, Observers),
        (hub, board): (Arc<Hub>, Option<Arc<Board>>),
    ) -> Result<Self, DbErr> {
        health.answers()?;
        health.is_in_place()?;
        let (share, mut lent) = lent(connections, fence, shares.take()).await?;
        health.bound(lent.begin()).await.map_err(|error| health.noted(error))?;
        Ok(Self {
            connection: Mutex::new(lent),
            share,
            backend: connections.backend(),
            observers,
            health,
            hub,
            board,
            notices: Lock::default(),
            changed: AtomicBool::new(false),
        })
    }

    /// Publishes this notice to open sessions, here and on other nodes, once the transaction is committed, even if the
    /// caller is gone by then. After a rollback, nothing is published.
    pub fn tell(&self, notice: Notice) {
        if !notice.is_empty() {
            self.notices.lock().push(notice);
        }
    }

    /// Whether one of its statements has changed anything.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Relaxed)
    }

    /// Notes whether a statement changed anything: it is not a SELECT, and affected or returned rows.
    fn note(&self, statement: &Statement, rows: u64) {
        if rows > 0 && !statement.sql.starts_with("SELECT") {
            self.changed.store(true, Relaxed);
        }
    }

    /// Commits, invalidates the changed entries of the Redis cache, and publishes the notices.
    ///
    /// If there are notices, this continues even if the caller is dropped. It publishes them even if the response to
    /// the commit was lost, so that the outcome is unknown: an unnecessary notice is harmless.
    pub async fn commit(self) -> Result<(), DbErr> {
        let Self { connection, share, health, hub, board, notices, .. } = self;
        let mut lent = connection.into_inner();
        let notices = notices.into_inner();
        let committed = async move {
            let ended = health.committing(lent.end("COMMIT")).await.map_err(|error| health.noted(error));
            // Checked while the connection is open, because the last one to close deletes SQLite's log.
            let kept = ended.and_then(|()| health.has_kept());
            drop((lent, share));
            kept
        };
        if notices.is_empty() {
            return committed.await;
        }
        let committing = tokio::spawn(async move {
            let mut ended = committed.await;
            if let Some(board) = board
                && !board.take_down(&notices).await
            {
                // Other nodes may still serve the old state, so the commit must not be acknowledged.
                ended = ended.and(Err(Ailment::Away.error()));
            }
            for notice in notices {
                hub.tell(notice);
            }
            ended
        });
        committing.await.unwrap_or_else(|cause| Err(DbErr::Custom(format!("a commit was aborted: {cause}"))))
    }

    async fn watch<T>(&self, statement: &Statement, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let done = self.observers.watch(statement, self.health.bound(work)).await;
        done.map_err(|error| self.health.noted(error))
    }

    /// Rolls back. If that takes too long, for example after a cancelled statement, the connection is closed instead.
    pub async fn rollback(self) -> Result<(), DbErr> {
        let mut lent = self.connection.into_inner();
        let ended = timeout(ROLLBACK, lent.end("ROLLBACK")).await;
        ended.unwrap_or_else(|_| Err(Ailment::Slow.error()))
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        self.backend
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut lent = self.connection.lock().await;
        let done = self.watch(&statement, lent.run(&statement)).await?;
        self.note(&statement, done.rows_affected());
        Ok(done)
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let mut lent = self.connection.lock().await;
        self.health.bound(lent.run_text(text)).await.map_err(|error| self.health.noted(error))
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        let row = self.watch(&statement, lent.one(&statement)).await?;
        self.note(&statement, row.is_some().into());
        Ok(row)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        let rows = self.watch(&statement, lent.all(&statement)).await?;
        self.note(&statement, rows.len() as u64);
        Ok(rows)
    }
}

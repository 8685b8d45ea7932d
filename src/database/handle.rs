//! What statements are run with.

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

/// How long it may take to take a transaction back.
const ROLLBACK: Duration = Duration::from_secs(1);

type Observer = dyn Fn(&Info<'_>) + Send + Sync;

/// Who is told of statements.
#[derive(Clone, Default)]
pub(super) struct Observers(pub Vec<Arc<Observer>>);

impl Debug for Observers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl Observers {
    /// Does `work`, and tells everybody of it.
    async fn watch<T>(&self, statement: &Statement, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let started = Instant::now();
        let result = work.await;
        let info = Info { elapsed: started.elapsed(), statement, failed: result.is_err() };
        self.0.iter().for_each(|observer| observer(&info));
        result
    }
}

/// Runs statements that change nothing, each on whatever connection is free.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) connections: Any,
    pub(super) shares: Arc<Shares>,
    pub(super) observers: Observers,
    pub(super) health: Arc<Health>,
    pub(super) fence: Arc<Fence>,
}

/// Runs a statement that changes nothing, and again where it lost to another one, as to a newer node that changes the tables.
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

/// Waits for a place among those of whoever it is for, and for a connection: for both together no longer than for one.
///
/// A request that has had an answer before the process forgot what it remembers goes by what may be wrong by now, and gets no other.
async fn lent(connections: &Any, fence: &Fence, place: impl Future<Output = Share>) -> Result<(Share, AnyLent), DbErr> {
    let until = connections.waits_until();
    let late = |_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
    let share = timeout_at(until, place).await.map_err(late)?;
    let lent = hurried(until, connections.lend()).await?;
    if Party::is_of(fence.era()) { Ok((share, lent)) } else { Err(Ailment::Away.error()) }
}

/// Statements of which all take hold or none. Dropped, it takes them back.
#[derive(Debug)]
pub struct Transaction {
    connection: Mutex<AnyLent>,
    /// Kept for as long as the connection.
    share: Share,
    backend: DbBackend,
    observers: Observers,
    health: Arc<Health>,
    hub: Arc<Hub>,
    board: Option<Arc<Board>>,
    /// What open sessions are told once it is committed.
    notices: Lock<Vec<Notice>>,
    /// Whether a statement of it has changed a row.
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

    /// Open sessions, here and on other nodes, are told this once the transaction is committed, whether or not its caller
    /// is still there. Taken back, it tells nothing.
    pub fn tell(&self, notice: Notice) {
        if !notice.is_empty() {
            self.notices.lock().push(notice);
        }
    }

    /// Whether a statement of it has changed anything.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Relaxed)
    }

    /// Notes whether a statement changes anything: what reads begins with the word, and finding nothing is no change.
    fn note(&self, statement: &Statement, rows: u64) {
        if rows > 0 && !statement.sql.starts_with("SELECT") {
            self.changed.store(true, Relaxed);
        }
    }

    /// Lets all of it take hold, takes what it changes off the board, and tells the hub what there is to tell.
    ///
    /// Where there is anything, that goes on when the caller goes away in the middle. It is told even where the answer to
    /// the commit got lost, after which nobody knows: a notice too many does no harm.
    pub async fn commit(self) -> Result<(), DbErr> {
        let Self { connection, share, health, hub, board, notices, .. } = self;
        let mut lent = connection.into_inner();
        let notices = notices.into_inner();
        let committed = async move {
            let ended = health.committing(lent.end("COMMIT")).await.map_err(|error| health.noted(error));
            // While the connection is open: the last one to close takes SQLite's log away.
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
                // Others may not see yet what was committed: nobody may be told that it was.
                ended = ended.and(Err(Ailment::Away.error()));
            }
            for notice in notices {
                hub.tell(notice);
            }
            ended
        });
        committing.await.unwrap_or_else(|cause| Err(DbErr::Custom(format!("a commit was cut off: {cause}"))))
    }

    async fn watch<T>(&self, statement: &Statement, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let done = self.observers.watch(statement, self.health.bound(work)).await;
        done.map_err(|error| self.health.noted(error))
    }

    /// Takes all of it back. Where that takes long, as after a statement that was given up, the connection is closed instead.
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

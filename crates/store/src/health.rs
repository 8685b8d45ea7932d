//! The state of the database: whether it responds, takes writes, and is still at its path. Each statement also detects
//! errors of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sea_orm::DbErr;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::any_pool::AnyPool;
use super::fair_share::Principal;
use super::lineage::{LineageFence, bypass_fence};
use base::error::DatabaseFailure;

/// How often the health check runs.
const ROUND: Duration = Duration::from_secs(1);

/// How long the check waits for a response. With [`ROUND`], requests to a database that hangs fail within 3 s.
const ANSWER: Duration = Duration::from_millis(1_500);

/// A commit that takes longer than this is waiting for a standby, which must confirm it first.
const COMMIT: Duration = Duration::from_secs(5);

/// While writes wait for a standby, only every n-th check tries a write.
const TRIES_APART: u64 = 4;

/// How long a statement of a request may take: by default, as long as the whole request.
const REQUEST: Duration = Duration::from_secs(10);

/// How long any other statement may take. None of ours takes that long; this catches connections that broke silently.
const STATEMENT: Duration = Duration::from_secs(30);

/// The known state of a database.
#[derive(Debug)]
pub struct DatabaseHealth {
    /// The last check timed out, and no statement has succeeded since it began.
    is_silent: AtomicBool,
    /// Notifies waiting statements after each check, so that they stop waiting if the database does not respond.
    round: Notify,
    /// A statement has succeeded since the last check began.
    has_answered: AtomicBool,
    /// Why the last write failed, until one succeeds.
    refuses: Mutex<Option<DatabaseFailure>>,
    /// SQLite's file, unless it is in memory.
    file: Option<SqliteFile>,
    fence: Arc<LineageFence>,
    /// Commits in progress.
    commits: Mutex<PendingCommits>,
}

/// The start times of commits, by number.
#[derive(Debug, Default)]
struct PendingCommits {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
}

/// A commit in progress, until it is dropped.
struct CommitGuard<'a>(&'a DatabaseHealth, u64);

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        self.0.commits.lock().under_way.remove(&self.1);
    }
}

impl DatabaseHealth {
    /// For a database that has just responded. `file` is the path of the SQLite database.
    pub fn new(file: Option<&Path>, fence: Arc<LineageFence>) -> Self {
        let file = file.and_then(SqliteFile::open);
        let (is_silent, has_answered) = (AtomicBool::new(false), AtomicBool::new(true));
        let (refuses, commits) = (Mutex::default(), Mutex::default());
        Self { is_silent, round: Notify::new(), has_answered, refuses, file, fence, commits }
    }

    /// The current failure of the database, not of single statements.
    pub fn current_failure(&self) -> Option<DatabaseFailure> {
        if self.file.as_ref().is_some_and(|file| !file.is_in_place()) {
            return Some(DatabaseFailure::Moved);
        }
        if self.is_silent.load(Ordering::Relaxed) {
            return Some(DatabaseFailure::Away);
        }
        if self.fence.is_read_only() {
            return Some(DatabaseFailure::ReadOnly);
        }
        if self.fence.is_closed() { Some(DatabaseFailure::Elsewhere) } else { self.write_failure() }
    }

    /// Runs `work`, which ends a transaction, and records it as a commit in progress.
    pub async fn track_commit<T>(&self, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let commit = {
            let mut commits = self.commits.lock();
            commits.next += 1;
            let number = commits.next;
            commits.under_way.insert(number, Instant::now());
            CommitGuard(self, number)
        };
        let done = self.run_bounded(work).await;
        drop(commit);
        done
    }

    fn note_stuck_commits(&self) {
        let waits = self.commits.lock().under_way.values().next().is_some_and(|began_at| began_at.elapsed() > COMMIT);
        if waits {
            // Cleared when a write succeeds.
            self.note_error(DatabaseFailure::Waiting.to_error());
        }
    }

    /// Whether a statement has succeeded since the last check began.
    pub fn has_responded(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    fn write_failure(&self) -> Option<DatabaseFailure> {
        *self.refuses.lock()
    }

    /// Fails at once if the database does not respond, instead of waiting for a connection.
    pub fn check_responding(&self) -> Result<(), DbErr> {
        if self.is_silent.load(Ordering::Relaxed) { Err(DatabaseFailure::Away.to_error()) } else { Ok(()) }
    }

    /// Fails if writes would be lost because SQLite's file is not at its path any more.
    pub fn check_file(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.is_in_place() => Err(self.note_error(DatabaseFailure::Moved.to_error())),
            _ => Ok(()),
        }
    }

    /// The same after a commit, when SQLite's log must be next to the file.
    pub fn check_file_and_log(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.has_log() => Err(self.note_error(DatabaseFailure::Moved.to_error())),
            _ => self.check_file(),
        }
    }

    /// Runs one or two statements, unless the database stops responding or the work takes too long.
    ///
    /// Each check wakes all waiting statements: one timer for all of them. A timer for each would make overviews a
    /// tenth slower.
    pub async fn run_bounded<T>(&self, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let most = if Principal::is_set() { REQUEST } else { STATEMENT };
        let (mut work, began_at) = (pin!(work), Instant::now());
        loop {
            let round = self.round.notified();
            self.check_responding()?;
            tokio::select! {
                biased;
                done = &mut work => {
                    if done.is_ok() {
                        self.has_answered.store(true, Ordering::Relaxed);
                    }
                    return done;
                }
                () = round => {}
            }
            if began_at.elapsed() >= most {
                return Err(DatabaseFailure::Slow.to_error());
            }
        }
    }

    /// Records an error that shows that the database refuses writes.
    pub fn note_error(&self, error: DbErr) -> DbErr {
        if let Some(ailment) = DatabaseFailure::from_db_error(&error).filter(|ailment| ailment.is_write_failure()) {
            let before = self.refuses.lock().replace(ailment);
            if before != Some(ailment) {
                tracing::error!("{}", ailment.message());
            }
        }
        error
    }

    /// Checks the database for as long as it is used: whether it responds, over a dedicated connection (`aside`; SQLite
    /// needs none), and whether it takes writes again after it had refused them.
    pub async fn run_checks(self: Arc<Self>, aside: Option<AnyPool>, write: AnyPool) {
        for number in 0_u64.. {
            sleep(ROUND).await;
            if let Some(aside) = &aside {
                self.probe_reads(aside).await;
            }
            self.note_stuck_commits();
            self.round.notify_waiters();
            // Each attempt that waits for a standby leaves one more waiting session on the server.
            let rests = self.write_failure() == Some(DatabaseFailure::Waiting) && number % TRIES_APART > 0;
            if self.check_file().is_ok() && self.write_failure().is_some() && !rests {
                self.probe_writes(&write).await;
            }
        }
    }

    async fn probe_reads(&self, aside: &AnyPool) {
        self.has_answered.store(false, Ordering::Relaxed);
        // The lineage is asked for each time: a pooler may have switched servers, or a dump may have been restored.
        let asked = timeout(ANSWER, bypass_fence(async { aside.acquire().await?.query_lineage().await }));
        // Any other error is no reason to abort waiting statements. Nor is a timeout on this connection alone, while
        // others get responses.
        let is_missed = matches!(asked.await, Err(_) | Ok(Err(DbErr::ConnectionAcquire(_))));
        let is_silent = is_missed && !self.has_responded();
        if self.is_silent.swap(is_silent, Ordering::Relaxed) == is_silent {
            return;
        }
        if is_silent {
            tracing::error!("the database does not answer: until it does, requests fail at once");
        } else {
            tracing::info!("the database answers again");
        }
    }

    async fn probe_writes(&self, write: &AnyPool) {
        let tried = timeout(ANSWER, async {
            let mut lent = write.acquire().await?;
            lent.begin().await?;
            for words in write_probe() {
                lent.execute_simple(&words).await?;
            }
            lent.end_transaction("COMMIT").await?;
            self.check_file_and_log()
        });
        if matches!(tried.await, Ok(Ok(()))) {
            *self.refuses.lock() = None;
            tracing::info!("the database accepts writes again");
        }
    }
}

/// Writes more than fits into a half-empty page, and deletes it again.
fn write_probe() -> [String; 3] {
    let rows: Vec<String> = (0..40).map(|row| format!("('probe {row}', '{}')", "x".repeat(250))).collect();
    let remove = "DELETE FROM server WHERE name LIKE 'probe %'";
    [remove.into(), format!("INSERT INTO server (name, value) VALUES {}", rows.join(", ")), remove.into()]
}

/// SQLite's file, as of when it was opened.
#[derive(Debug)]
struct SqliteFile {
    path: PathBuf,
    log: PathBuf,
    identity: FileIdentity,
    has_had_log: AtomicBool,
}

/// The device and inode number of a file, which do not depend on its name. Always equal on systems without inodes.
type FileIdentity = (u64, u64);

impl SqliteFile {
    fn open(path: &Path) -> Option<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let identity = file_identity(path)?;
        Some(Self { path: path.to_owned(), log: log.into(), identity, has_had_log: AtomicBool::new(false) })
    }

    fn is_in_place(&self) -> bool {
        file_identity(&self.path) == Some(self.identity)
    }

    /// True also if there has never been a log, as on file systems that do not support SQLite's WAL.
    fn has_log(&self) -> bool {
        let has_log = self.log.exists();
        let has_had_log = self.has_had_log.fetch_or(has_log, Ordering::Relaxed);
        has_log || !has_had_log
    }
}

#[cfg(unix)]
fn file_identity(path: &Path) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_identity(path: &Path) -> Option<FileIdentity> {
    path.exists().then_some((0, 0))
}

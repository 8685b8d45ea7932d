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

use super::any::Any;
use super::lineage::{Fence, passing};
use super::share::Party;
use crate::error::Ailment;

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
pub struct Health {
    /// The last check timed out, and no statement has succeeded since it began.
    is_silent: AtomicBool,
    /// Notifies waiting statements after each check, so that they stop waiting if the database does not respond.
    round: Notify,
    /// A statement has succeeded since the last check began.
    has_answered: AtomicBool,
    /// Why the last write failed, until one succeeds.
    refuses: Mutex<Option<Ailment>>,
    /// SQLite's file, unless it is in memory.
    file: Option<File>,
    fence: Arc<Fence>,
    /// Commits in progress.
    commits: Mutex<Commits>,
}

/// The start times of commits, by number.
#[derive(Debug, Default)]
struct Commits {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
}

/// A commit in progress, until it is dropped.
struct Commit<'a>(&'a Health, u64);

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        self.0.commits.lock().under_way.remove(&self.1);
    }
}

impl Health {
    /// For a database that has just responded. `file` is the path of the SQLite database.
    pub fn new(file: Option<&Path>, fence: Arc<Fence>) -> Self {
        let file = file.and_then(File::open);
        let (is_silent, has_answered) = (AtomicBool::new(false), AtomicBool::new(true));
        let (refuses, commits) = (Mutex::default(), Mutex::default());
        Self { is_silent, round: Notify::new(), has_answered, refuses, file, fence, commits }
    }

    /// The current failure of the database, not of single statements.
    pub fn ailment(&self) -> Option<Ailment> {
        if self.file.as_ref().is_some_and(|file| !file.is_in_place()) {
            return Some(Ailment::Moved);
        }
        if self.is_silent.load(Ordering::Relaxed) {
            return Some(Ailment::Away);
        }
        if self.fence.is_read_only() {
            return Some(Ailment::ReadOnly);
        }
        if self.fence.is_closed() { Some(Ailment::Elsewhere) } else { self.refuses() }
    }

    /// Runs `work`, which ends a transaction, and records it as a commit in progress.
    pub async fn committing<T>(&self, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let commit = {
            let mut commits = self.commits.lock();
            commits.next += 1;
            let number = commits.next;
            commits.under_way.insert(number, Instant::now());
            Commit(self, number)
        };
        let done = self.bound(work).await;
        drop(commit);
        done
    }

    fn note_waiting_commits(&self) {
        let waits = self.commits.lock().under_way.values().next().is_some_and(|began_at| began_at.elapsed() > COMMIT);
        if waits {
            // Cleared when a write succeeds.
            self.noted(Ailment::Waiting.error());
        }
    }

    /// Whether a statement has succeeded since the last check began.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    fn refuses(&self) -> Option<Ailment> {
        *self.refuses.lock()
    }

    /// Fails at once if the database does not respond, instead of waiting for a connection.
    pub fn answers(&self) -> Result<(), DbErr> {
        if self.is_silent.load(Ordering::Relaxed) { Err(Ailment::Away.error()) } else { Ok(()) }
    }

    /// Fails if writes would be lost because SQLite's file is not at its path any more.
    pub fn is_in_place(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.is_in_place() => Err(self.noted(Ailment::Moved.error())),
            _ => Ok(()),
        }
    }

    /// The same after a commit, when SQLite's log must be next to the file.
    pub fn has_kept(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.has_log() => Err(self.noted(Ailment::Moved.error())),
            _ => self.is_in_place(),
        }
    }

    /// Runs one or two statements, unless the database stops responding or the work takes too long.
    ///
    /// Each check wakes all waiting statements: one timer for all of them. A timer for each would make overviews a
    /// tenth slower.
    pub async fn bound<T>(&self, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let most = if Party::is_known() { REQUEST } else { STATEMENT };
        let (mut work, began_at) = (pin!(work), Instant::now());
        loop {
            let round = self.round.notified();
            self.answers()?;
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
                return Err(Ailment::Slow.error());
            }
        }
    }

    /// Records an error that shows that the database refuses writes.
    pub fn noted(&self, error: DbErr) -> DbErr {
        if let Some(ailment) = Ailment::of(&error).filter(|ailment| ailment.stops_writes()) {
            let before = self.refuses.lock().replace(ailment);
            if before != Some(ailment) {
                tracing::error!("{}", ailment.words());
            }
        }
        error
    }

    /// Checks the database for as long as it is used: whether it responds, over a dedicated connection (`aside`; SQLite
    /// needs none), and whether it takes writes again after it had refused them.
    pub async fn look_after(self: Arc<Self>, aside: Option<Any>, write: Any) {
        for number in 0_u64.. {
            sleep(ROUND).await;
            if let Some(aside) = &aside {
                self.listen(aside).await;
            }
            self.note_waiting_commits();
            self.round.notify_waiters();
            // Each attempt that waits for a standby leaves one more waiting session on the server.
            let rests = self.refuses() == Some(Ailment::Waiting) && number % TRIES_APART > 0;
            if self.is_in_place().is_ok() && self.refuses().is_some() && !rests {
                self.try_writing(&write).await;
            }
        }
    }

    async fn listen(&self, aside: &Any) {
        self.has_answered.store(false, Ordering::Relaxed);
        // The lineage is asked for each time: a pooler may have switched servers, or a dump may have been restored.
        let asked = timeout(ANSWER, passing(async { aside.lend().await?.look().await }));
        // Any other error is no reason to abort waiting statements. Nor is a timeout on this connection alone, while
        // others get responses.
        let is_missed = matches!(asked.await, Err(_) | Ok(Err(DbErr::ConnectionAcquire(_))));
        let is_silent = is_missed && !self.has_answered();
        if self.is_silent.swap(is_silent, Ordering::Relaxed) == is_silent {
            return;
        }
        if is_silent {
            tracing::error!("the database does not answer: until it does, requests fail at once");
        } else {
            tracing::info!("the database answers again");
        }
    }

    async fn try_writing(&self, write: &Any) {
        let tried = timeout(ANSWER, async {
            let mut lent = write.lend().await?;
            lent.begin().await?;
            for words in probe() {
                lent.run_text(&words).await?;
            }
            lent.end("COMMIT").await?;
            self.has_kept()
        });
        if matches!(tried.await, Ok(Ok(()))) {
            *self.refuses.lock() = None;
            tracing::info!("the database accepts writes again");
        }
    }
}

/// Writes more than fits into a half-empty page, and deletes it again.
fn probe() -> [String; 3] {
    let rows: Vec<String> = (0..40).map(|row| format!("('probe {row}', '{}')", "x".repeat(250))).collect();
    let remove = "DELETE FROM server WHERE name LIKE 'probe %'";
    [remove.into(), format!("INSERT INTO server (name, value) VALUES {}", rows.join(", ")), remove.into()]
}

/// SQLite's file, as of when it was opened.
#[derive(Debug)]
struct File {
    path: PathBuf,
    log: PathBuf,
    identity: Identity,
    has_had_log: AtomicBool,
}

/// The device and inode number of a file, which do not depend on its name. Always equal on systems without inodes.
type Identity = (u64, u64);

impl File {
    fn open(path: &Path) -> Option<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let identity = identity(path)?;
        Some(Self { path: path.to_owned(), log: log.into(), identity, has_had_log: AtomicBool::new(false) })
    }

    fn is_in_place(&self) -> bool {
        identity(&self.path) == Some(self.identity)
    }

    /// True also if there has never been a log, as on file systems that do not support SQLite's WAL.
    fn has_log(&self) -> bool {
        let has_log = self.log.exists();
        let has_had_log = self.has_had_log.fetch_or(has_log, Ordering::Relaxed);
        has_log || !has_had_log
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    path.exists().then_some((0, 0))
}

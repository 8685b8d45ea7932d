//! How the database is, beyond what each statement finds out for itself: whether it answers at all, takes writes, and is where
//! it was.

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

/// How often the database is looked at.
const ROUND: Duration = Duration::from_secs(1);

/// How long it may take to answer that it is there. With [`ROUND`], whoever asks it something while it hangs knows within 3 s.
const ANSWER: Duration = Duration::from_millis(1_500);

/// A commit that takes longer than this waits for another server, which is to have it first.
const COMMIT: Duration = Duration::from_secs(5);

/// So many rounds lie between two tries to write while writes wait for another server.
const TRIES_APART: u64 = 4;

/// How long a statement of a request may take, where the database answers others: as long as the whole request, by default.
const REQUEST: Duration = Duration::from_secs(10);

/// How long any other may take: it is longer than any of ours takes, and for one whose connection broke without a word.
const STATEMENT: Duration = Duration::from_secs(30);

/// What is known of a database.
#[derive(Debug)]
pub struct Health {
    /// Nothing came back when it was last asked whether it is there, nor to anybody else since.
    is_silent: AtomicBool,
    /// Whoever waits for an answer looks whether any can still come.
    round: Notify,
    /// Something came back since then.
    has_answered: AtomicBool,
    /// Why it took no write, until it takes one again.
    refuses: Mutex<Option<Ailment>>,
    /// SQLite's, unless it is in memory.
    file: Option<File>,
    fence: Arc<Fence>,
    /// Commits that have begun and not ended.
    commits: Mutex<Commits>,
}

/// When commits began, by a number for each.
#[derive(Debug, Default)]
struct Commits {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
}

/// A commit, until it is dropped.
struct Commit<'a>(&'a Health, u64);

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        self.0.commits.lock().under_way.remove(&self.1);
    }
}

impl Health {
    /// Of a database that has just answered. `file` is where SQLite keeps it.
    pub fn new(file: Option<&Path>, fence: Arc<Fence>) -> Self {
        let file = file.and_then(File::open);
        let (is_silent, has_answered) = (AtomicBool::new(false), AtomicBool::new(true));
        let (refuses, commits) = (Mutex::default(), Mutex::default());
        Self { is_silent, round: Notify::new(), has_answered, refuses, file, fence, commits }
    }

    /// What ails it; not what only one statement met.
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

    /// Ends a transaction by `work`, which is looked at while it goes on.
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
            // It is over once a write succeeds.
            self.noted(Ailment::Waiting.error());
        }
    }

    /// Whether something came back since it was last asked whether it is there.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    fn refuses(&self) -> Option<Ailment> {
        *self.refuses.lock()
    }

    /// Fails where nobody need wait for a connection, since nothing answers.
    pub fn answers(&self) -> Result<(), DbErr> {
        if self.is_silent.load(Ordering::Relaxed) { Err(Ailment::Away.error()) } else { Ok(()) }
    }

    /// Fails where what is written is lost, since SQLite's file is not in its place any more.
    pub fn is_in_place(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.is_in_place() => Err(self.noted(Ailment::Moved.error())),
            _ => Ok(()),
        }
    }

    /// The same after a commit, which leaves SQLite's log beside the file.
    pub fn has_kept(&self) -> Result<(), DbErr> {
        match &self.file {
            Some(file) if !file.has_log() => Err(self.noted(Ailment::Moved.error())),
            _ => self.is_in_place(),
        }
    }

    /// Does work of a statement or two, unless the database hangs meanwhile, or the work takes too long.
    ///
    /// That is looked at once a round, with one timer for all that is under way: one for each statement costs overviews a tenth.
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

    /// Remembers why a write failed, where that is no fault of its own.
    pub fn noted(&self, error: DbErr) -> DbErr {
        if let Some(ailment) = Ailment::of(&error).filter(|ailment| ailment.stops_writes()) {
            let before = self.refuses.lock().replace(ailment);
            if before != Some(ailment) {
                tracing::error!("{}", ailment.words());
            }
        }
        error
    }

    /// Looks at the database for as long as it is used: whether it answers, by a connection that nobody else has (`aside`; SQLite
    /// needs none), and whether it takes writes again, if it did not.
    pub async fn look_after(self: Arc<Self>, aside: Option<Any>, write: Any) {
        for number in 0_u64.. {
            sleep(ROUND).await;
            if let Some(aside) = &aside {
                self.listen(aside).await;
            }
            self.note_waiting_commits();
            self.round.notify_waiters();
            // Each try that waits for another server leaves one more session there that does.
            let rests = self.refuses() == Some(Ailment::Waiting) && number % TRIES_APART > 0;
            if self.is_in_place().is_ok() && self.refuses().is_some() && !rests {
                self.try_writing(&write).await;
            }
        }
    }

    async fn listen(&self, aside: &Any) {
        self.has_answered.store(false, Ordering::Relaxed);
        // Where connections lead is asked anew: a pooler may lead them elsewhere, and a dump may have been restored.
        let asked = timeout(ANSWER, passing(async { aside.lend().await?.look().await }));
        // Whatever else it says, it is no reason to give up what waits for an answer. Nor is it that this connection alone has none
        // in time, while others have.
        let is_missed = matches!(asked.await, Err(_) | Ok(Err(DbErr::ConnectionAcquire(_))));
        let is_silent = is_missed && !self.has_answered();
        if self.is_silent.swap(is_silent, Ordering::Relaxed) == is_silent {
            return;
        }
        if is_silent {
            tracing::error!("the database does not answer: nobody waits for it until it does");
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
            tracing::info!("the database takes writes again");
        }
    }
}

/// Writes more than there is room for in a page that is half empty, and takes it away again.
fn probe() -> [String; 3] {
    let rows: Vec<String> = (0..40).map(|row| format!("('probe {row}', '{}')", "x".repeat(250))).collect();
    let remove = "DELETE FROM server WHERE name LIKE 'probe %'";
    [remove.into(), format!("INSERT INTO server (name, value) VALUES {}", rows.join(", ")), remove.into()]
}

/// SQLite's, as it was when it was opened.
#[derive(Debug)]
struct File {
    path: PathBuf,
    log: PathBuf,
    identity: Identity,
    has_had_log: AtomicBool,
}

/// By which a file is known, whatever it is called: its device and its number there. Where the system has none, any will do.
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

    /// Unless there has never been one, as on a system of files that does not let SQLite have it.
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

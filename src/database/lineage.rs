//! The lineage of a database (which database, and which history of it), and the fence between two lineages.
//!
//! After a failover to a server that lacks the end of the log, after a restore, and where a name leads elsewhere, the numbers of users,
//! tenants and items that this process remembers may come to mean others. So each connection is asked for its lineage in the round trip
//! that greets it, and once a second after that. Where the lineage is another, the fence closes: no connection is lent until the
//! process has forgotten what it remembers, and the numbers are raised beyond any that may have been given out
//! (`domain/chore/fence.rs`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::Mutex;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::error::Ailment;

/// A fence that has been closed for longer than this refuses at once: the cause will not pass soon.
const WAITED_FOR: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// Whether this work passes a closed fence.
    static PASSES: ();
}

/// Runs work of the fence itself, which may use connections while the fence is closed.
pub fn passing<F: Future>(work: F) -> impl Future<Output = F::Output> {
    PASSES.scope((), work)
}

fn passes() -> bool {
    PASSES.try_with(|()| ()).is_ok()
}

/// By which a connection is known to lead where others lead. None has 0.
pub type Tag = u64;

/// What a server says of itself: a name, and what it has.
pub type Fact = (String, String);

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Another one for each history of each database: it goes into a row of the database, which has room for 256 characters.
    pub name: Arc<str>,
    /// The server takes no writes, as one does that copies another.
    pub is_read_only: bool,
    /// It is a node of a Galera cluster.
    pub is_cluster: bool,
}

/// What a lineage ends with while the tables are not all there, as before the first migration, or while a dump is restored.
const EMPTY: &str = "empty";

/// PostgreSQL names a new timeline at each promotion and each restore to a point in time. Where a dump is restored, the last table has
/// another key, which it gets when all rows are there. None of it needs a right, and a server that copies another says so in place of
/// its timeline.
pub const POSTGRES: &str = "SELECT 'postgres ' || (SELECT system_identifier FROM pg_control_system()) || ' ' || \
    CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END || ' ' || \
    (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || \
    COALESCE((SELECT CAST(MAX(oid) AS text) FROM pg_constraint WHERE conrelid = to_regclass('view_visit') AND contype = 'p'), 'empty'), \
    current_setting('transaction_read_only')";

/// MariaDB and MySQL know no timelines: each server is a lineage of its own, and so is each time that the tables were made, the first
/// and the last of those that raising numbers leaves as they are.
pub const MYSQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
        ('server_id', 'server_uid', 'server_uuid', 'hostname', 'port', 'read_only', 'wsrep_on'); \
    SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_cluster_state_uuid'; \
    SELECT 'made', CASE COUNT(*) WHEN 2 THEN CONCAT(MIN(UNIX_TIMESTAMP(create_time)), ' ', MAX(UNIX_TIMESTAMP(create_time))) \
        ELSE 'empty' END FROM information_schema.tables \
        WHERE table_schema = DATABASE() AND table_name IN ('activity_key', 'view_visit')";

impl Lineage {
    /// Of what PostgreSQL answers: one row, with the name first.
    pub fn of_postgres(facts: &[Fact]) -> Option<Self> {
        let (name, read_only) = facts.last()?;
        Some(Self { name: name.as_str().into(), is_read_only: read_only == "on", is_cluster: false })
    }

    /// Of what MariaDB or MySQL answers. All nodes of a Galera cluster have the same.
    pub fn of_mysql(facts: &[Fact]) -> Option<Self> {
        let of = |name: &str| facts.iter().find(|(fact, _)| fact == name).map(|(_, value)| value.as_str());
        let is_on = |name| of(name).is_some_and(|value| !matches!(value, "OFF" | "0"));
        let cluster = of("wsrep_cluster_state_uuid").filter(|uuid| is_on("wsrep_on") && !uuid.is_empty());
        let name = if let Some(uuid) = cluster {
            format!("galera {uuid}")
        } else {
            let place = || format!("{}:{}", of("hostname").unwrap_or_default(), of("port").unwrap_or_default());
            let server = of("server_uid").or(of("server_uuid")).map_or_else(place, str::to_owned);
            format!("mysql {} {server} {}", of("server_id")?, of("made")?)
        };
        Some(Self { name: name.into(), is_read_only: is_on("read_only"), is_cluster: cluster.is_some() })
    }

    /// Of a file of SQLite with this number on its disk.
    pub fn of_file(number: u64) -> Self {
        Self { name: format!("sqlite {number}").into(), is_read_only: false, is_cluster: false }
    }

    /// Whether tables are missing.
    pub fn is_unfinished(&self) -> bool {
        self.name.ends_with(EMPTY)
    }

    /// Never 0.
    pub fn tag(&self) -> Tag {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish().max(1)
    }
}

/// Keeps connections from being lent while they lead to another lineage than the process goes by.
#[derive(Debug, Default)]
pub struct Fence {
    state: Mutex<State>,
    /// Which connections may be lent; 0 while any may.
    admitted: AtomicU64,
    is_closed: AtomicBool,
    closed: watch::Sender<bool>,
    is_read_only: AtomicBool,
    /// How often the process has forgotten what it remembers.
    era: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// What the process goes by; nothing until it has compared that with the database for the first time.
    known: Option<Lineage>,
    /// Where the newest connection leads.
    met: Option<Lineage>,
    /// How often numbers were raised, as far as this process has heard.
    number: u64,
    closed_at: Option<Instant>,
}

impl Fence {
    /// Notes where a connection leads, and closes where that is elsewhere.
    pub fn meets(&self, lineage: &Lineage) -> Tag {
        self.is_read_only.store(lineage.is_read_only, SeqCst);
        let mut state = self.state.lock();
        state.met = Some(lineage.clone());
        if state.known.as_ref().is_some_and(|known| known.name != lineage.name) {
            self.close(&mut state);
        }
        if self.is_closed() {
            self.admitted.store(lineage.tag(), SeqCst);
        }
        lineage.tag()
    }

    /// Closes until the lineage was compared with what stands in the database. Nothing happens where there is none, as in memory.
    pub fn arm(&self) {
        let mut state = self.state.lock();
        if let Some(met) = &state.met {
            self.admitted.store(met.tag(), SeqCst);
            self.close(&mut state);
        }
    }

    fn close(&self, state: &mut State) {
        if !self.is_closed.swap(true, SeqCst) {
            state.closed_at = Some(Instant::now());
            if let (Some(known), Some(met)) = (&state.known, &state.met) {
                tracing::warn!(
                    from = &*known.name,
                    to = &*met.name,
                    "the database is another one, or has another history"
                );
            }
            self.closed.send_replace(true);
        }
    }

    /// Lets connections of this lineage be lent again; false where a newer connection leads elsewhere.
    pub fn open(&self, lineage: &Lineage, number: u64) -> bool {
        let mut state = self.state.lock();
        if state.met.as_ref().is_none_or(|met| met.name != lineage.name) {
            return false;
        }
        state.number = state.number.max(number);
        state.known = Some(lineage.clone());
        state.closed_at = None;
        self.admitted.store(lineage.tag(), SeqCst);
        self.is_closed.store(false, SeqCst);
        self.closed.send_replace(false);
        true
    }

    /// What the process goes by, and how often numbers were raised as far as it has heard.
    pub fn known(&self) -> (Option<Lineage>, u64) {
        let state = self.state.lock();
        (state.known.clone(), state.number)
    }

    /// Where the newest connection leads.
    pub fn met(&self) -> Option<Lineage> {
        self.state.lock().met.clone()
    }

    /// Over when it is closed.
    pub async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(SeqCst)
    }

    /// Whether the server that was met last takes no writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(SeqCst)
    }

    /// How often the process has forgotten what it remembers: what was found out in an earlier era may be wrong by now.
    pub fn era(&self) -> u64 {
        self.era.load(SeqCst)
    }

    pub fn begin_era(&self) {
        self.era.fetch_add(1, SeqCst);
    }

    /// Whether a connection with this tag may be lent. One of SQLite has no tag: it is to the file that was opened first.
    pub fn admits(&self, tag: Tag) -> bool {
        let admitted = self.admitted.load(SeqCst);
        admitted == 0 || tag == 0 || admitted == tag
    }

    /// Whether the current task may use a connection with this tag now.
    pub fn lends(&self, tag: Tag) -> bool {
        (!self.is_closed() || passes()) && self.admits(tag)
    }

    /// Waits while the fence is closed, but not for a fence that stays closed.
    pub async fn wait(&self, until: Instant) -> Result<(), DbErr> {
        if !self.is_closed() || passes() {
            return Ok(());
        }
        let closed_at = self.state.lock().closed_at;
        let refused = || {
            if self.is_read_only() {
                return Ailment::ReadOnly.error();
            }
            DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)
        };
        if closed_at.is_some_and(|at| at.elapsed() > WAITED_FOR) {
            return Err(refused());
        }
        let mut closed = self.closed.subscribe();
        let opened = timeout_at(until, closed.wait_for(|is_closed| !is_closed)).await;
        opened.map(drop).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(of: &[(&str, &str)]) -> Vec<Fact> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_server_has_a_lineage_and_a_cluster_has_one() {
        let one = [("server_id", "1"), ("server_uid", "u"), ("read_only", "OFF"), ("wsrep_on", "OFF"), ("made", "7")];
        let lineage = Lineage::of_mysql(&facts(&one)).unwrap();
        assert_eq!((&*lineage.name, lineage.is_read_only, lineage.is_cluster), ("mysql 1 u 7", false, false));
        let copy = [("server_id", "2"), ("hostname", "b"), ("port", "3306"), ("read_only", "ON"), ("made", "7")];
        let copy = Lineage::of_mysql(&facts(&copy)).unwrap();
        assert_eq!((&*copy.name, copy.is_read_only), ("mysql 2 b:3306 7", true));
        let node = [("server_id", "2"), ("wsrep_on", "ON"), ("wsrep_cluster_state_uuid", "c"), ("made", "8")];
        let node = Lineage::of_mysql(&facts(&node)).unwrap();
        assert_eq!((&*node.name, node.is_cluster), ("galera c", true));
        assert!(Lineage::of_mysql(&[]).is_none());
    }

    #[test]
    fn a_fence_closes_when_a_connection_leads_elsewhere_and_opens_where_it_leads_by_then() {
        let (fence, one, other) = (Fence::default(), Lineage::of_file(1), Lineage::of_file(2));
        let tag = fence.meets(&one);
        assert!(!fence.is_closed() && fence.admits(tag) && fence.admits(other.tag()), "it is not armed");
        fence.arm();
        assert!(fence.is_closed() && fence.open(&one, 3) && !fence.is_closed());
        assert!(fence.admits(tag) && !fence.admits(other.tag()));
        fence.meets(&other);
        assert!(fence.is_closed() && !fence.admits(tag) && fence.admits(other.tag()));
        assert!(!fence.open(&one, 3), "a newer connection leads elsewhere");
        assert!(fence.open(&other, 4) && !fence.is_closed() && !fence.admits(tag));
        assert_eq!(fence.known(), (Some(other), 4));
    }
}

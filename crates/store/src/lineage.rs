//! The lineage of a database (its identity and its history), and the fence between two lineages.
//!
//! After a failover to a server that lacks the end of the log, after a restore, or when a host name points to another
//! database, the ids of users, tenants and items that this process has cached may mean something else. So each new
//! connection asks for the lineage in its first round trip, and the health check asks again every second. If the
//! lineage has changed, the fence closes: the pool hands out no connections until the process has dropped its caches,
//! and the id sequences have been advanced beyond any id that may have been used (`domain/chore/fence.rs`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use parking_lot::Mutex;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use base::error::DatabaseFailure;

/// If the fence has been closed for longer than this, requests fail at once: the cause will not pass soon.
const WAITED_FOR: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// Set for work that may pass a closed fence.
    static PASSES: ();
}

/// Runs work that may use connections while the fence is closed, such as the work that opens it.
pub fn bypass_fence<F: Future>(work: F) -> impl Future<Output = F::Output> {
    PASSES.scope((), work)
}

fn is_bypassing() -> bool {
    PASSES.try_with(|()| ()).is_ok()
}

/// A hash of a lineage, to compare connections. 0 means no lineage.
pub type LineageTag = u64;

/// A name and its value, as a server reports them.
pub type ServerFact = (String, String);

/// The lineage of a connection's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseLineage {
    /// Unique for each history of each database. Stored in a column of 256 characters.
    pub name: Arc<str>,
    /// Whether the server refuses writes, as a standby does.
    pub is_read_only: bool,
    /// Whether the server is a node of a Galera cluster.
    pub is_cluster: bool,
}

/// Ends the name while tables are missing: before the first migration, or during the restore of a dump.
const EMPTY: &str = "empty";

/// PostgreSQL starts a new timeline at each promotion and each point-in-time restore. Restoring a dump gives the last
/// table's primary key, which is created after all rows are loaded, a new oid. The query needs no privileges. A standby
/// reports `standby` instead of a timeline.
pub const POSTGRES: &str = "SELECT 'postgres ' || (SELECT system_identifier FROM pg_control_system()) || ' ' || \
    CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END || ' ' || \
    (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || \
    COALESCE((SELECT CAST(MAX(oid) AS text) FROM pg_constraint WHERE conrelid = to_regclass('view_visit') AND contype = 'p'), 'empty'), \
    current_setting('transaction_read_only')";

/// MariaDB and MySQL have no timelines. Each server is a lineage of its own, and so is each creation of the tables,
/// identified by the creation times of the first and the last table whose ids are not generated, since advancing the
/// sequences leaves these alone.
pub const MYSQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
        ('server_id', 'server_uid', 'server_uuid', 'hostname', 'port', 'read_only', 'wsrep_on'); \
    SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_cluster_state_uuid'; \
    SELECT 'made', CASE COUNT(*) WHEN 2 THEN CONCAT(MIN(UNIX_TIMESTAMP(create_time)), ' ', MAX(UNIX_TIMESTAMP(create_time))) \
        ELSE 'empty' END FROM information_schema.tables \
        WHERE table_schema = DATABASE() AND table_name IN ('activity_key', 'view_visit')";

impl DatabaseLineage {
    /// From PostgreSQL's response: one row, with the name first.
    pub fn from_postgres(facts: &[ServerFact]) -> Option<Self> {
        let (name, read_only) = facts.last()?;
        Some(Self { name: name.as_str().into(), is_read_only: read_only == "on", is_cluster: false })
    }

    /// From the response of MariaDB or MySQL. All nodes of a Galera cluster have the same lineage.
    pub fn from_mysql(facts: &[ServerFact]) -> Option<Self> {
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

    /// The lineage of a SQLite file with this inode number.
    pub fn from_inode(number: u64) -> Self {
        Self { name: format!("sqlite {number}").into(), is_read_only: false, is_cluster: false }
    }

    /// Whether tables are missing.
    pub fn is_unfinished(&self) -> bool {
        self.name.ends_with(EMPTY)
    }

    /// Never 0.
    pub fn tag(&self) -> LineageTag {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish().max(1)
    }
}

/// Blocks connections to another lineage than the one this process uses.
#[derive(Debug, Default)]
pub struct LineageFence {
    state: Mutex<FenceState>,
    /// The tag of connections that may be handed out; 0 if any may.
    admitted: AtomicU64,
    is_closed: AtomicBool,
    closed: watch::Sender<bool>,
    is_read_only: AtomicBool,
    /// How often the process has dropped its caches.
    era: AtomicU64,
}

#[derive(Debug, Default)]
struct FenceState {
    /// The lineage this process uses. `None` until it has been compared with the database for the first time.
    known: Option<DatabaseLineage>,
    /// The lineage of the newest connection.
    met: Option<DatabaseLineage>,
    /// How often sequences were advanced, as far as this process knows.
    number: u64,
    closed_at: Option<Instant>,
}

impl LineageFence {
    /// Notes the lineage of a connection, and closes the fence if it is a different one.
    pub fn observe(&self, lineage: &DatabaseLineage) -> LineageTag {
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

    /// Closes the fence until the lineage has been compared with the one stored in the database. Does nothing if there
    /// is no lineage, as for a database in memory.
    pub fn arm(&self) {
        let mut state = self.state.lock();
        if let Some(met) = &state.met {
            self.admitted.store(met.tag(), SeqCst);
            self.close(&mut state);
        }
    }

    fn close(&self, state: &mut FenceState) {
        if !self.is_closed.swap(true, SeqCst) {
            state.closed_at = Some(Instant::now());
            if let (Some(known), Some(met)) = (&state.known, &state.met) {
                tracing::warn!(
                    from = &*known.name,
                    to = &*met.name,
                    "connected to another database, or to one with another history"
                );
            }
            self.closed.send_replace(true);
        }
    }

    /// Admits connections of this lineage again. Returns false if a newer connection has a different lineage.
    pub fn open(&self, lineage: &DatabaseLineage, number: u64) -> bool {
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

    /// The lineage this process uses, and how often sequences were advanced as far as it knows.
    pub fn current_lineage(&self) -> (Option<DatabaseLineage>, u64) {
        let state = self.state.lock();
        (state.known.clone(), state.number)
    }

    /// The lineage of the newest connection.
    pub fn newest_lineage(&self) -> Option<DatabaseLineage> {
        self.state.lock().met.clone()
    }

    /// Waits until the fence is closed.
    pub async fn wait_until_closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(SeqCst)
    }

    /// Whether the last server that answered refuses writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(SeqCst)
    }

    /// How often the process has dropped its caches. Results from an earlier era may be wrong.
    pub fn era(&self) -> u64 {
        self.era.load(SeqCst)
    }

    pub fn begin_era(&self) {
        self.era.fetch_add(1, SeqCst);
    }

    /// Whether a connection with this tag may be used. SQLite connections have tag 0 and are always admitted: all of
    /// them keep the file open that was opened first.
    pub fn is_admitted(&self, tag: LineageTag) -> bool {
        let admitted = self.admitted.load(SeqCst);
        admitted == 0 || tag == 0 || admitted == tag
    }

    /// Whether the current task may use a connection with this tag now.
    pub fn is_usable(&self, tag: LineageTag) -> bool {
        (!self.is_closed() || is_bypassing()) && self.is_admitted(tag)
    }

    /// Waits while the fence is closed, but not if it has been closed for more than 5 s.
    pub async fn wait_until_open(&self, until: Instant) -> Result<(), DbErr> {
        if !self.is_closed() || is_bypassing() {
            return Ok(());
        }
        let closed_at = self.state.lock().closed_at;
        let refused = || {
            if self.is_read_only() {
                return DatabaseFailure::ReadOnly.to_error();
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

    fn facts(of: &[(&str, &str)]) -> Vec<ServerFact> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_server_has_a_lineage_and_a_cluster_has_one() {
        let one = [("server_id", "1"), ("server_uid", "u"), ("read_only", "OFF"), ("wsrep_on", "OFF"), ("made", "7")];
        let lineage = DatabaseLineage::from_mysql(&facts(&one)).unwrap();
        assert_eq!((&*lineage.name, lineage.is_read_only, lineage.is_cluster), ("mysql 1 u 7", false, false));
        let copy = [("server_id", "2"), ("hostname", "b"), ("port", "3306"), ("read_only", "ON"), ("made", "7")];
        let copy = DatabaseLineage::from_mysql(&facts(&copy)).unwrap();
        assert_eq!((&*copy.name, copy.is_read_only), ("mysql 2 b:3306 7", true));
        let node = [("server_id", "2"), ("wsrep_on", "ON"), ("wsrep_cluster_state_uuid", "c"), ("made", "8")];
        let node = DatabaseLineage::from_mysql(&facts(&node)).unwrap();
        assert_eq!((&*node.name, node.is_cluster), ("galera c", true));
        assert!(DatabaseLineage::from_mysql(&[]).is_none());
    }

    #[test]
    fn a_fence_closes_when_a_connection_leads_elsewhere_and_opens_where_it_leads_by_then() {
        let (fence, one, other) =
            (LineageFence::default(), DatabaseLineage::from_inode(1), DatabaseLineage::from_inode(2));
        let tag = fence.observe(&one);
        assert!(!fence.is_closed() && fence.is_admitted(tag) && fence.is_admitted(other.tag()), "it is not armed");
        fence.arm();
        assert!(fence.is_closed() && fence.open(&one, 3) && !fence.is_closed());
        assert!(fence.is_admitted(tag) && !fence.is_admitted(other.tag()));
        fence.observe(&other);
        assert!(fence.is_closed() && !fence.is_admitted(tag) && fence.is_admitted(other.tag()));
        assert!(!fence.open(&one, 3), "a newer connection leads elsewhere");
        assert!(fence.open(&other, 4) && !fence.is_closed() && !fence.is_admitted(tag));
        assert_eq!(fence.current_lineage(), (Some(other), 4));
    }
}

//! Sources: external databases that rules read and the server never writes to.
//!
//! Each scan gets a connection without traces of earlier scans. It is closed afterwards. Only PostgreSQL keeps one for
//! reuse, after `DISCARD ALL`, and pings it first because the source may have been restarted.

mod failure;
mod found;
mod listener;
mod mysql;
mod postgres;
mod server;
mod sqlite;
mod statement;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use futures_util::future::join_all;
use tokio::sync::{broadcast, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::config::{Environment, SourceSettings, SourcesConfig};
use crate::error::{Error, Result};
use crate::fair_semaphore::{Denied, FairPermit, FairSemaphore};
pub use failure::{Failure, FailureKind};
pub use found::Found;
pub use server::Checked;
pub use statement::Kind;

use found::Gathering;
use listener::Listener;
use mysql::MySql;
use postgres::Postgres;
use server::{Lent, Server};
use sqlite::{Patience, Question, Sqlite};
use statement::{Parameter, Statement};

/// How much longer than the timeout to wait for the source's own timeout error.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum number of plan steps returned.
const STEPS: usize = 1_000;

/// How long shutdown waits for scans to end.
const CLOSES_WITHIN: Duration = Duration::from_secs(3);

/// All configured sources.
#[derive(Debug, Default)]
pub struct Sources(Vec<Source>);

/// One source.
#[derive(Debug)]
pub struct Source {
    settings: SourceSettings,
    server: Kinds,
    /// Each statement needs a permit. Tenants that share the source share its permits fairly.
    permits: FairSemaphore<String>,
    /// Set when the server shuts down.
    closes: watch::Sender<bool>,
    listener: Option<Listener>,
}

#[derive(Debug)]
enum Kinds {
    Postgres(Arc<Postgres>),
    MySql(Arc<MySql>),
    Sqlite(Arc<Sqlite>),
}

/// A query for a source.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The tenant of the rule. A source limits the connections of each tenant.
    pub tenant: &'a str,
    /// A single SELECT.
    pub sql: &'a str,
    /// The value of `:now`.
    pub now: DateTime<Utc>,
    /// The value of `:since`. `None` means the beginning of 1970.
    pub since: Option<DateTime<Utc>>,
    /// At most the source's own timeout.
    pub timeout: Duration,
    /// Maximum number of rows, at most the source's own limit.
    pub limit: usize,
}

impl Sources {
    /// Reads the sources file named in the settings. Opens no connections.
    ///
    /// Fails with `Config` if the file is invalid.
    pub fn read(config: &SourcesConfig, environment: Environment<'_>) -> Result<Self> {
        config.read(environment)?.into_iter().map(Source::new).collect::<Result<_>>().map(Self)
    }

    /// The source with this name, if rules of the tenant may read it.
    pub fn of(&self, tenant: &str, name: &str) -> Option<&Source> {
        self.list(tenant).find(|source| source.name() == name)
    }

    /// The sources that rules of the tenant may read.
    pub fn list(&self, tenant: &str) -> impl Iterator<Item = &Source> {
        self.0.iter().filter(move |source| source.settings.is_of(tenant))
    }

    /// All sources, for the operator.
    pub fn all(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Fails with `Config` if a source is the server's own database, which contains the data of all tenants: the same
    /// SQLite file, or the same database with the same user.
    pub fn refuse_own(&self, database: &str) -> Result<()> {
        match self.0.iter().find(|source| source.is_over(database)) {
            None => Ok(()),
            Some(own) => Err(Error::Config(format!(
                "TIDINGS_SOURCES: {:?} is the database of this server, where rules could read every tenant: use another one, or a \
                 user with fewer privileges",
                own.name()
            ))),
        }
    }

    /// Ends running scans and refuses new ones.
    pub async fn close(&self) {
        join_all(self.0.iter().map(Source::close)).await;
    }
}

impl Source {
    fn new(settings: SourceSettings) -> Result<Self> {
        let url = &settings.url;
        let (server, listener) = match url.split_once(':').map_or("", |(scheme, _)| scheme) {
            "postgres" | "postgresql" => Postgres::new(url).map(|server| {
                let listener = settings.channel.as_ref().map(|channel| Listener::new(server.options.clone(), channel));
                (Kinds::Postgres(Arc::new(server)), listener)
            }),
            "sqlite" => Sqlite::new(url).map(|server| (Kinds::Sqlite(Arc::new(server)), None)),
            _ => MySql::new(url).map(|server| (Kinds::MySql(Arc::new(server)), None)),
        }
        // The driver's message may contain the URL.
        .map_err(|_| {
            Error::Config(format!("TIDINGS_SOURCES: {:?}: `url` cannot be used: is it a URL?", settings.name))
        })?;
        let is_shared = settings.tenants.as_ref().is_none_or(|tenants| tenants.len() > 1);
        let connections = settings.connections;
        // A tenant may use half of the connections, and at least one.
        let share = if is_shared { (connections / 2).max(1) } else { connections };
        let permits = FairSemaphore::new(connections, share);
        Ok(Self { settings, server, permits, closes: watch::Sender::new(false), listener })
    }

    pub fn name(&self) -> &str {
        &self.settings.name
    }

    pub fn kind(&self) -> Kind {
        match self.server {
            Kinds::Postgres(_) => Kind::Postgres,
            Kinds::MySql(_) => Kind::MySql,
            Kinds::Sqlite(_) => Kind::Sqlite,
        }
    }

    /// The maximum duration of a scan.
    pub fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// The maximum number of rows of a scan.
    pub fn max_rows(&self) -> usize {
        self.settings.max_rows
    }

    /// How many statements this node may run at once.
    pub fn connections(&self) -> usize {
        self.settings.connections as usize
    }

    /// How many of these one tenant may run.
    pub fn share(&self) -> usize {
        self.permits.share() as usize
    }

    fn is_over(&self, database: &str) -> bool {
        match &self.server {
            Kinds::Postgres(server) => server.is_over(database),
            Kinds::MySql(server) => server.is_over(database),
            Kinds::Sqlite(server) => server.is_over(database),
        }
    }

    /// Runs a query. Returns at most `limit` rows and 16 MiB. It waits for a permit up to the source's timeout, and
    /// then runs up to the query's timeout.
    pub async fn scan(&self, query: Query<'_>) -> Result<Found, Failure> {
        self.asked(query, Wanted::Rows).await
    }

    /// The source's plan for a query, which is not run: text from PostgreSQL and SQLite, JSON from MySQL and MariaDB.
    pub async fn plan(&self, query: Query<'_>) -> Result<String, Failure> {
        let found = self.asked(Query { limit: STEPS, ..query }, Wanted::Plan).await?;
        // SQLite's description is in the last column.
        let lines = found.rows.iter().filter_map(|row| row.get(found.columns.last()?)?.as_str());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Checks that the source responds. Returns its version and privileges that scans do not need, for the operator.
    pub async fn check(&self) -> Result<Checked, Failure> {
        self.check_as("").await
    }

    /// The same for a tenant, with a permit from its share.
    pub async fn check_as(&self, tenant: &str) -> Result<Checked, Failure> {
        match &self.server {
            Kinds::Postgres(server) => self.checked(server, tenant).await,
            Kinds::MySql(server) => self.checked(server, tenant).await,
            Kinds::Sqlite(server) => {
                let server = server.clone();
                self.on_thread(tenant, self.timeout(), move |patience| server.check(patience)).await
            }
        }
    }

    /// Subscribes to the source's notification channel. `None` if the settings have no channel. An empty text means
    /// that the connection was interrupted and notifications may be missing. A receiver that lags gets an error.
    pub fn notifications(&self) -> Option<broadcast::Receiver<Arc<str>>> {
        self.listener.as_ref().map(Listener::subscribe)
    }

    async fn asked(&self, query: Query<'_>, wanted: Wanted) -> Result<Found, Failure> {
        let query =
            Query { limit: query.limit.min(self.max_rows()), timeout: query.timeout.min(self.timeout()), ..query };
        // Drivers read text up to the first NUL.
        if let Some(at) = query.sql.chars().position(|char| char == '\0') {
            return Err(Failure::refused("a statement has no NUL", Some(at + 1)));
        }
        match &self.server {
            Kinds::Postgres(server) => self.found(server, query, wanted).await,
            Kinds::MySql(server) => self.found(server, query, wanted).await,
            Kinds::Sqlite(server) => {
                let (server, sql) = (server.clone(), query.sql.to_owned());
                let question = Question { sql, now: query.now, since: since(query), limit: query.limit };
                let ask = move |patience: &Patience| match wanted {
                    Wanted::Rows => server.scan(&question, patience),
                    Wanted::Plan => server.plan(&question, patience),
                };
                self.on_thread(query.tenant, query.timeout, ask).await
            }
        }
    }

    /// Runs blocking work on a thread. The thread keeps the permit until it has ended.
    async fn on_thread<T: Send + 'static>(
        &self,
        tenant: &str,
        allowed: Duration,
        work: impl FnOnce(&Patience) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.permit(tenant).await?;
        let until = Instant::now() + allowed;
        let caller = Caller::default();
        let patience = Patience { until: until.into_std(), is_over: caller.0.clone() };
        let task = spawn_blocking(move || {
            let done = work(&patience);
            drop(permit);
            done
        });
        self.bound(until, async { task.await.unwrap_or_else(|_| Err(Failure::failed("the scan failed"))) }).await
    }

    async fn found<S: Server>(&self, server: &Arc<S>, query: Query<'_>, wanted: Wanted) -> Result<Found, Failure> {
        let written = Statement::read(self.kind(), query.sql)?;
        let instants: Vec<_> = written
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Now => query.now,
                Parameter::Since => since(query),
            })
            .collect();
        let permit = self.permit(query.tenant).await?;
        let until = Instant::now() + query.timeout;
        // Boxed, because the future is large and connecting is rare.
        let scan = Box::pin(async {
            let mut lent = self.lend(server, permit, until).await.map_err(Failure::in_short)?;
            let columns = columns(&mut lent, &written).await?;
            // Checked before the statement becomes a subquery, which would change the source's errors about names.
            let mut gathering = Gathering::of(columns.clone(), query.limit)?;
            let bounded = bounded(&mut lent, &written, &columns, query.limit).await?;
            let (statement, first) = match wanted {
                Wanted::Rows => (bounded, 1),
                Wanted::Plan => (written.between(S::EXPLAIN, ""), 0),
            };
            if matches!(wanted, Wanted::Plan) {
                let columns = self::columns(&mut lent, &statement).await?;
                gathering = Gathering::of(columns, query.limit)?;
            }
            let mut rows = S::rows(lent.ask(), &statement, &instants);
            let ended = loop {
                match rows.try_next().await {
                    Ok(None) => break Ok(true),
                    Ok(Some(row)) if gathering.takes(|index| S::value(&row, first + index))? => {}
                    Ok(Some(_)) => break Ok(false),
                    Err(cause) => break Err(cause),
                }
            };
            drop(rows);
            match ended {
                Ok(true) => lent.answered(),
                Ok(false) => {}
                Err(cause) => return Err(failed(&mut lent, &statement, &cause).without_values()),
            }
            Ok(gathering.end())
        });
        self.bound(until, scan).await
    }

    async fn checked<S: Server>(&self, server: &Arc<S>, tenant: &str) -> Result<Checked, Failure> {
        let permit = self.permit(tenant).await?;
        let until = Instant::now() + self.timeout();
        let check = Box::pin(async {
            let mut lent = self.lend(server, permit, until).await?;
            let checked = S::check(lent.ask()).await.map_err(|cause| Failure::from(&cause))?;
            lent.answered();
            Ok(checked)
        });
        self.bound(until, check).await
    }

    async fn permit(&self, tenant: &str) -> Result<FairPermit, Failure> {
        let mut closes = self.closes.subscribe();
        tokio::select! {
            biased;
            _ = closes.wait_for(|closes| *closes) => Err(Failure::closing()),
            permit = self.permits.acquire(tenant.to_owned(), self.timeout()) => permit.map_err(|denied| match denied {
                Denied::TimedOut => Failure::no_connection(),
                Denied::Closed => Failure::closing(),
            }),
        }
    }

    /// Opens a connection on which a statement may take the remaining time.
    async fn lend<S: Server>(&self, server: &Arc<S>, permit: FairPermit, until: Instant) -> Result<Lent<S>, Failure> {
        let opened = timeout_at(until, async {
            let mut connection = server.open().await?;
            let handle = S::begin(&mut connection, until.duration_since(Instant::now())).await?;
            Ok((connection, handle))
        });
        match opened.await {
            Ok(Ok((connection, handle))) => Ok(Lent::new(server.clone(), connection, handle, permit)),
            Ok(Err(cause)) => Err(Failure::from(&cause)),
            Err(_) => Err(Failure::no_answer()),
        }
    }

    /// Runs work until the timeout or shutdown. A success after the timeout counts as a timeout: MySQL reports success
    /// for a `SLEEP` that was interrupted.
    async fn bound<T>(&self, until: Instant, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let mut closes = self.closes.subscribe();
        tokio::select! {
            biased;
            _ = closes.wait_for(|closes| *closes) => Err(Failure::closing()),
            done = timeout_at(until + GRACE, work) => match done {
                Ok(Ok(_)) if Instant::now() >= until => Err(Failure::timed_out()),
                Ok(done) => done,
                Err(_) => Err(Failure::timed_out()),
            },
        }
    }

    async fn close(&self) {
        self.closes.send_replace(true);
        if let Some(listener) = &self.listener {
            listener.close();
        }
        self.permits.close(CLOSES_WITHIN).await;
    }
}

/// The kind of result.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Rows,
    Plan,
}

/// The caller of work on a thread. Dropping it ends the work.
#[derive(Default)]
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn since(query: Query<'_>) -> DateTime<Utc> {
    query.since.unwrap_or(DateTime::UNIX_EPOCH)
}

/// Prepares a statement and returns its column names, which are empty if it returns no rows.
async fn columns<S: Server>(lent: &mut Lent<S>, statement: &Statement) -> Result<Vec<String>, Failure> {
    match S::columns(lent.ask(), statement).await {
        Ok(columns) => {
            lent.answered();
            Ok(columns)
        }
        Err(cause) => Err(failed(lent, statement, &cause)),
    }
}

/// Wraps a statement, which has been prepared on its own before, in a SELECT of rows with a bounded size.
async fn bounded<S: Server>(
    lent: &mut Lent<S>,
    written: &Statement,
    columns: &[String],
    limit: usize,
) -> Result<Statement, Failure> {
    let mut first = None;
    for statement in S::bounded(written, columns, limit) {
        match self::columns(lent, &statement).await {
            Ok(_) => return Ok(statement),
            Err(failure) if failure.kind != FailureKind::Failed => return Err(failure),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    let failure = first.unwrap_or_else(|| Failure::refused("", None));
    let message = format!("a scan must be one SELECT that can be a subquery: {}", failure.message);
    Err(Failure { kind: FailureKind::Refused, message, ..failure })
}

/// The failure of a statement that was prepared or run.
fn failed<S: Server>(lent: &mut Lent<S>, statement: &Statement, cause: &sqlx::Error) -> Failure {
    if cause.as_database_error().is_some() {
        lent.answered();
    }
    if S::is_row_too_large(cause) {
        return Failure::row_too_large();
    }
    Failure::of(cause, |seen| statement.place(seen))
}

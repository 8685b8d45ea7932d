//! Sources: external databases that rules read and the server never writes to.
//!
//! Each scan gets a connection without traces of earlier scans. It is closed afterwards. Only PostgreSQL keeps one for
//! reuse, after `DISCARD ALL`, and pings it first because the source may have been restarted.
//!
//! Knows `base` alone. To add a kind of source: a file with `impl driver::SourceServer`, and its URL scheme in
//! `base::config::sources`.

mod driver;
mod failure;
mod listener;
mod mysql;
mod postgres;
mod query_rows;
mod scan_statement;
mod sqlite;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use futures_util::future::join_all;
use tokio::sync::{broadcast, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use base::config::{EnvironmentLookup, SourceSettings, SourcesConfig};
use base::error::{Error, Result};
use base::fair_semaphore::{FairPermit, FairSemaphore};
pub use driver::SourceCheck;
use driver::{LeasedConnection, SourceServer};
pub use failure::{QueryFailure, QueryFailureKind};
use listener::SourceListener;
use mysql::MySqlSource;
use postgres::PostgresSource;
pub use query_rows::QueryRows;
use query_rows::RowCollector;
pub use scan_statement::SourceKind;
use scan_statement::{RuleParameter, ScanStatement};
use sqlite::{OwnedQuery, ScanDeadline, SqliteSource};

/// How much longer than the timeout to wait for the source's own timeout error.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum number of plan steps returned.
const STEPS: usize = 1_000;

/// How long shutdown waits for scans to end.
const CLOSES_WITHIN: Duration = Duration::from_secs(3);

/// All configured sources.
#[derive(Debug, Default)]
pub struct DataSources(Vec<DataSource>);

/// One source.
#[derive(Debug)]
pub struct DataSource {
    settings: SourceSettings,
    server: SourceBackend,
    /// Each statement needs a permit. Tenants that share the source share its permits fairly.
    permits: FairSemaphore<String>,
    /// Set when the server shuts down.
    closes: watch::Sender<bool>,
    listener: Option<SourceListener>,
}

#[derive(Debug)]
enum SourceBackend {
    Postgres(Arc<PostgresSource>),
    MySql(Arc<MySqlSource>),
    Sqlite(Arc<SqliteSource>),
}

/// A query for a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceQuery<'a> {
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

impl DataSources {
    /// Reads the sources file named in the settings. Opens no connections.
    ///
    /// Fails with `Config` if the file is invalid.
    pub fn load(config: &SourcesConfig, environment: EnvironmentLookup<'_>) -> Result<Self> {
        config.read_sources(environment)?.into_iter().map(DataSource::new).collect::<Result<_>>().map(Self)
    }

    /// The source with this name, if rules of the tenant may read it.
    pub fn find_for_tenant(&self, tenant: &str, name: &str) -> Option<&DataSource> {
        self.list_for_tenant(tenant).find(|source| source.name() == name)
    }

    /// The sources that rules of the tenant may read.
    pub fn list_for_tenant(&self, tenant: &str) -> impl Iterator<Item = &DataSource> {
        self.0.iter().filter(move |source| source.settings.is_readable_by(tenant))
    }

    /// All sources, for the operator.
    pub fn all(&self) -> impl Iterator<Item = &DataSource> {
        self.0.iter()
    }

    /// Fails with `Config` if a source is the server's own database, which contains the data of all tenants: the same
    /// SQLite file, or the same database with the same user.
    pub fn reject_own_database(&self, database: &str) -> Result<()> {
        match self.0.iter().find(|source| source.is_same_database(database)) {
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
        join_all(self.0.iter().map(DataSource::close)).await;
    }
}

impl DataSource {
    fn new(settings: SourceSettings) -> Result<Self> {
        let url = &settings.url;
        let (server, listener) = match url.split_once(':').map_or("", |(scheme, _)| scheme) {
            "postgres" | "postgresql" => PostgresSource::new(url).map(|server| {
                let listener =
                    settings.channel.as_ref().map(|channel| SourceListener::new(server.options.clone(), channel));
                (SourceBackend::Postgres(Arc::new(server)), listener)
            }),
            "sqlite" => SqliteSource::new(url).map(|server| (SourceBackend::Sqlite(Arc::new(server)), None)),
            _ => MySqlSource::new(url).map(|server| (SourceBackend::MySql(Arc::new(server)), None)),
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

    pub fn kind(&self) -> SourceKind {
        match self.server {
            SourceBackend::Postgres(_) => SourceKind::Postgres,
            SourceBackend::MySql(_) => SourceKind::MySql,
            SourceBackend::Sqlite(_) => SourceKind::Sqlite,
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
    pub fn max_connections(&self) -> usize {
        self.settings.connections as usize
    }

    /// How many of these one tenant may run.
    pub fn tenant_share(&self) -> usize {
        self.permits.permits_per_key() as usize
    }

    fn is_same_database(&self, database: &str) -> bool {
        match &self.server {
            SourceBackend::Postgres(server) => server.is_same_database(database),
            SourceBackend::MySql(server) => server.is_same_database(database),
            SourceBackend::Sqlite(server) => server.is_same_file(database),
        }
    }

    /// Runs a query. Returns at most `limit` rows and 16 MiB. It waits for a permit up to the source's timeout, and
    /// then runs up to the query's timeout.
    pub async fn scan(&self, query: SourceQuery<'_>) -> Result<QueryRows, QueryFailure> {
        self.run_query(query, ResultKind::Rows).await
    }

    /// The source's plan for a query, which is not run: text from PostgreSQL and SQLite, JSON from MySQL and MariaDB.
    pub async fn plan(&self, query: SourceQuery<'_>) -> Result<String, QueryFailure> {
        let found = self.run_query(SourceQuery { limit: STEPS, ..query }, ResultKind::Plan).await?;
        // SQLite's description is in the last column.
        let lines = found.rows.iter().filter_map(|row| row.get(found.columns.last()?)?.as_str());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Checks that the source responds. Returns its version and privileges that scans do not need, for the operator.
    pub async fn check(&self) -> Result<SourceCheck, QueryFailure> {
        self.check_for_tenant("").await
    }

    /// The same for a tenant, with a permit from its share.
    pub async fn check_for_tenant(&self, tenant: &str) -> Result<SourceCheck, QueryFailure> {
        match &self.server {
            SourceBackend::Postgres(server) => self.check_server(server, tenant).await,
            SourceBackend::MySql(server) => self.check_server(server, tenant).await,
            SourceBackend::Sqlite(server) => {
                let server = server.clone();
                self.run_on_thread(tenant, self.timeout(), move |patience| server.check(patience)).await
            }
        }
    }

    /// Subscribes to the source's notification channel. `None` if the settings have no channel. An empty text means
    /// that the connection was interrupted and notifications may be missing. A receiver that lags gets an error.
    pub fn subscribe_notifications(&self) -> Option<broadcast::Receiver<Arc<str>>> {
        self.listener.as_ref().map(SourceListener::subscribe)
    }

    async fn run_query(&self, query: SourceQuery<'_>, wanted: ResultKind) -> Result<QueryRows, QueryFailure> {
        let query = SourceQuery {
            limit: query.limit.min(self.max_rows()),
            timeout: query.timeout.min(self.timeout()),
            ..query
        };
        // Drivers read text up to the first NUL.
        if let Some(at) = query.sql.chars().position(|char| char == '\0') {
            return Err(QueryFailure::rejected_statement("a statement has no NUL", Some(at + 1)));
        }
        match &self.server {
            SourceBackend::Postgres(server) => self.query_server(server, query, wanted).await,
            SourceBackend::MySql(server) => self.query_server(server, query, wanted).await,
            SourceBackend::Sqlite(server) => {
                let (server, sql) = (server.clone(), query.sql.to_owned());
                let question = OwnedQuery { sql, now: query.now, since: since_or_epoch(query), limit: query.limit };
                let ask = move |patience: &ScanDeadline| match wanted {
                    ResultKind::Rows => server.scan(&question, patience),
                    ResultKind::Plan => server.plan(&question, patience),
                };
                self.run_on_thread(query.tenant, query.timeout, ask).await
            }
        }
    }

    /// Runs blocking work on a thread. The thread keeps the permit until it has ended.
    async fn run_on_thread<T: Send + 'static>(
        &self,
        tenant: &str,
        allowed: Duration,
        work: impl FnOnce(&ScanDeadline) -> Result<T, QueryFailure> + Send + 'static,
    ) -> Result<T, QueryFailure> {
        let permit = self.acquire_permit(tenant).await?;
        let until = Instant::now() + allowed;
        let caller = CancelOnDrop::default();
        let patience = ScanDeadline { until: until.into_std(), is_over: caller.0.clone() };
        let task = spawn_blocking(move || {
            let done = work(&patience);
            drop(permit);
            done
        });
        self.run_bounded(until, async {
            task.await.unwrap_or_else(|_| Err(QueryFailure::failed_statement("the scan failed")))
        })
        .await
    }

    async fn query_server<S: SourceServer>(
        &self,
        server: &Arc<S>,
        query: SourceQuery<'_>,
        wanted: ResultKind,
    ) -> Result<QueryRows, QueryFailure> {
        let written = ScanStatement::parse(self.kind(), query.sql)?;
        let instants: Vec<_> = written
            .parameters
            .iter()
            .map(|parameter| match parameter {
                RuleParameter::Now => query.now,
                RuleParameter::Since => since_or_epoch(query),
            })
            .collect();
        let permit = self.acquire_permit(query.tenant).await?;
        let until = Instant::now() + query.timeout;
        // Boxed, because the future is large.
        let scan = Box::pin(async {
            let mut lent = self.open_connection(server, permit, until).await.map_err(QueryFailure::without_address)?;
            let columns = prepare_columns(&mut lent, &written).await?;
            // Checked before the statement becomes a subquery, which would change the source's errors about names.
            let mut gathering = RowCollector::for_columns(columns.clone(), query.limit)?;
            let bounded = bound_statement(&mut lent, &written, &columns, query.limit).await?;
            let (statement, first) = match wanted {
                ResultKind::Rows => (bounded, 1),
                ResultKind::Plan => (written.wrap_with(S::EXPLAIN, ""), 0),
            };
            if matches!(wanted, ResultKind::Plan) {
                let columns = prepare_columns(&mut lent, &statement).await?;
                gathering = RowCollector::for_columns(columns, query.limit)?;
            }
            let mut rows = S::stream_rows(lent.start_request(), &statement, &instants);
            let ended = loop {
                match rows.try_next().await {
                    Ok(None) => break Ok(true),
                    Ok(Some(row)) if gathering.add_row(|index| S::column_value(&row, first + index))? => {}
                    Ok(Some(_)) => break Ok(false),
                    Err(cause) => break Err(cause),
                }
            };
            drop(rows);
            match ended {
                Ok(true) => lent.finish_request(),
                Ok(false) => {}
                Err(cause) => return Err(statement_failure(&mut lent, &statement, &cause).without_values()),
            }
            Ok(gathering.into_rows())
        });
        self.run_bounded(until, scan).await
    }

    async fn check_server<S: SourceServer>(&self, server: &Arc<S>, tenant: &str) -> Result<SourceCheck, QueryFailure> {
        let permit = self.acquire_permit(tenant).await?;
        let until = Instant::now() + self.timeout();
        let check = Box::pin(async {
            let mut lent = self.open_connection(server, permit, until).await?;
            let checked = S::check_server(lent.start_request()).await.map_err(|cause| QueryFailure::from(&cause))?;
            lent.finish_request();
            Ok(checked)
        });
        self.run_bounded(until, check).await
    }

    async fn acquire_permit(&self, tenant: &str) -> Result<FairPermit, QueryFailure> {
        let mut closes = self.closes.subscribe();
        tokio::select! {
            biased;
            _ = closes.wait_for(|closes| *closes) => Err(QueryFailure::shutting_down()),
            permit = self.permits.acquire(tenant.to_owned(), self.timeout()) => permit.ok_or_else(QueryFailure::no_connection),
        }
    }

    /// Opens a connection on which a statement may take the remaining time.
    async fn open_connection<S: SourceServer>(
        &self,
        server: &Arc<S>,
        permit: FairPermit,
        until: Instant,
    ) -> Result<LeasedConnection<S>, QueryFailure> {
        let opened = timeout_at(until, async {
            let mut connection = server.open().await?;
            let handle = S::begin(&mut connection, until.duration_since(Instant::now())).await?;
            Ok((connection, handle))
        });
        match opened.await {
            Ok(Ok((connection, handle))) => Ok(LeasedConnection::new(server.clone(), connection, handle, permit)),
            Ok(Err(cause)) => Err(QueryFailure::from(&cause)),
            Err(_) => Err(QueryFailure::no_response()),
        }
    }

    /// Runs work until the timeout or shutdown. A success after the timeout counts as a timeout: MySQL reports success
    /// for a `SLEEP` that was interrupted.
    async fn run_bounded<T>(
        &self,
        until: Instant,
        work: impl Future<Output = Result<T, QueryFailure>>,
    ) -> Result<T, QueryFailure> {
        let mut closes = self.closes.subscribe();
        tokio::select! {
            biased;
            _ = closes.wait_for(|closes| *closes) => Err(QueryFailure::shutting_down()),
            done = timeout_at(until + GRACE, work) => match done {
                Ok(Ok(_)) if Instant::now() >= until => Err(QueryFailure::timed_out()),
                Ok(done) => done,
                Err(_) => Err(QueryFailure::timed_out()),
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
enum ResultKind {
    Rows,
    Plan,
}

/// The caller of work on a thread. Dropping it ends the work.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn since_or_epoch(query: SourceQuery<'_>) -> DateTime<Utc> {
    query.since.unwrap_or(DateTime::UNIX_EPOCH)
}

/// Prepares a statement and returns its column names, which are empty if it returns no rows.
async fn prepare_columns<S: SourceServer>(
    lent: &mut LeasedConnection<S>,
    statement: &ScanStatement,
) -> Result<Vec<String>, QueryFailure> {
    match S::prepare_columns(lent.start_request(), statement).await {
        Ok(columns) => {
            lent.finish_request();
            Ok(columns)
        }
        Err(cause) => Err(statement_failure(lent, statement, &cause)),
    }
}

/// Wraps a statement, which has been prepared on its own before, in a SELECT of rows with a bounded size.
async fn bound_statement<S: SourceServer>(
    lent: &mut LeasedConnection<S>,
    written: &ScanStatement,
    columns: &[String],
    limit: usize,
) -> Result<ScanStatement, QueryFailure> {
    let mut first = None;
    for statement in S::wrap_bounded(written, columns, limit) {
        match prepare_columns(lent, &statement).await {
            Ok(_) => return Ok(statement),
            Err(failure) if failure.kind != QueryFailureKind::Failed => return Err(failure),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    let failure = first.unwrap_or_else(|| QueryFailure::rejected_statement("", None));
    let message = format!("a scan must be one SELECT that can be a subquery: {}", failure.message);
    Err(QueryFailure { kind: QueryFailureKind::Refused, message, ..failure })
}

/// The failure of a statement that was prepared or run.
fn statement_failure<S: SourceServer>(
    lent: &mut LeasedConnection<S>,
    statement: &ScanStatement,
    cause: &sqlx::Error,
) -> QueryFailure {
    if cause.as_database_error().is_some() {
        lent.finish_request();
    }
    if S::is_row_too_large(cause) {
        return QueryFailure::row_too_large();
    }
    QueryFailure::from_driver(cause, |seen| statement.original_position(seen))
}

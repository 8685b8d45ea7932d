//! Sources: databases that belong to somebody else, which rules read and nobody writes to.
//!
//! A connection is opened for each scan and closed after it, so that none is ever what another scan made of it, nor one that a
//! restart of the source has left behind.

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

/// How much longer than it allows a statement we wait for the source's own word that it took too long.
const GRACE: Duration = Duration::from_millis(500);

/// The most steps of a plan that are shown.
const STEPS: usize = 1_000;

/// How long a stopping server waits for scans to end.
const CLOSES_WITHIN: Duration = Duration::from_secs(3);

/// All that the settings name.
#[derive(Debug, Default)]
pub struct Sources(Vec<Source>);

/// One database.
#[derive(Debug)]
pub struct Source {
    settings: SourceSettings,
    server: Kinds,
    /// A statement needs one. Those of several tenants are shared by tenant.
    permits: FairSemaphore<String>,
    /// Whether all of it is to end.
    closes: watch::Sender<bool>,
    listener: Option<Listener>,
}

#[derive(Debug)]
enum Kinds {
    Postgres(Arc<Postgres>),
    MySql(Arc<MySql>),
    Sqlite(Arc<Sqlite>),
}

/// What to ask a source.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Whose rule asks: a source lends a tenant a share of its connections.
    pub tenant: &'a str,
    /// One SELECT.
    pub sql: &'a str,
    /// Bound where it says `:now`.
    pub now: DateTime<Utc>,
    /// Bound where it says `:since`; the beginning of 1970 where there is none.
    pub since: Option<DateTime<Utc>>,
    /// At most the source's own.
    pub timeout: Duration,
    /// The most rows; at most the source's own.
    pub limit: usize,
}

impl Sources {
    /// Reads the file that the settings name, and opens nothing.
    ///
    /// Fails with `Config` where something is wrong with it.
    pub fn read(config: &SourcesConfig, environment: Environment<'_>) -> Result<Self> {
        config.read(environment)?.into_iter().map(Source::new).collect::<Result<_>>().map(Self)
    }

    /// The one of this name, where rules of the tenant may read it.
    pub fn of(&self, tenant: &str, name: &str) -> Option<&Source> {
        self.list(tenant).find(|source| source.name() == name)
    }

    /// Those that rules of the tenant may read.
    pub fn list(&self, tenant: &str) -> impl Iterator<Item = &Source> {
        self.0.iter().filter(move |source| source.settings.is_of(tenant))
    }

    /// All, for whoever runs the server.
    pub fn all(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Fails with `Config` where a source is the server's own database, which holds what all tenants have: the same file of SQLite, or
    /// the same database under the same user.
    pub fn refuse_own(&self, database: &str) -> Result<()> {
        match self.0.iter().find(|source| source.is_over(database)) {
            None => Ok(()),
            Some(own) => Err(Error::Config(format!(
                "TIDINGS_SOURCES: {:?} is the database of this server, where rules could read every tenant: name another one, or a \
                 user of its own that may read less",
                own.name()
            ))),
        }
    }

    /// Ends what runs on them, and lets nothing else begin.
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
        // What the driver says may show the URL.
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

    /// The longest that a scan may take.
    pub fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// The most rows that a scan may find.
    pub fn max_rows(&self) -> usize {
        self.settings.max_rows
    }

    /// How many statements may run on it at once, of this node.
    pub fn connections(&self) -> usize {
        self.settings.connections as usize
    }

    /// How many of them may be one tenant's.
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

    /// What a statement finds; at most `limit` rows, and 16 MiB. A scan waits for a permit as long as it may take, and then takes as
    /// long as it may.
    pub async fn scan(&self, query: Query<'_>) -> Result<Found, Failure> {
        self.asked(query, Wanted::Rows).await
    }

    /// How the source would go about it, in its own words: text of PostgreSQL and SQLite, JSON of MySQL and MariaDB. It is not run.
    pub async fn plan(&self, query: Query<'_>) -> Result<String, Failure> {
        let found = self.asked(Query { limit: STEPS, ..query }, Wanted::Plan).await?;
        // SQLite's words stand last.
        let lines = found.rows.iter().filter_map(|row| row.get(found.columns.last()?)?.as_str());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Whether it answers, what it is, and what it lets us do that no scan needs: for the operator of this server.
    pub async fn check(&self) -> Result<Checked, Failure> {
        self.check_as("").await
    }

    /// The same for a tenant, of whose share it takes a permit.
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

    /// What is notified on the channel of its settings, from now on; nothing where it has none. A text is empty where
    /// the connection was away, and something may have been missed. Whoever lags behind is told by the receiver.
    pub fn notifications(&self) -> Option<broadcast::Receiver<Arc<str>>> {
        self.listener.as_ref().map(Listener::subscribe)
    }

    async fn asked(&self, query: Query<'_>, wanted: Wanted) -> Result<Found, Failure> {
        let query =
            Query { limit: query.limit.min(self.max_rows()), timeout: query.timeout.min(self.timeout()), ..query };
        // Drivers read a text to its first NUL.
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

    /// Does what blocks on a thread of its own, which keeps its permit until it has ended.
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
        // In a box, since connecting is large and rare.
        let scan = Box::pin(async {
            let mut lent = self.lend(server, permit, until).await.map_err(Failure::in_short)?;
            let columns = columns(&mut lent, &written).await?;
            // Before it is a subquery, where the source's words about names would be others.
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

    /// A connection in which a statement may take what is left of the time.
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

    /// Does work until its time is over, or all is to end. What ended later did not end by itself: MySQL says of a `SLEEP` that
    /// was cut short that it was successful.
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

/// What is asked of a source about a statement.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Rows,
    Plan,
}

/// The caller that waits for a thread's work. When it is dropped, the work ends.
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

/// Prepares a statement: the names of its columns, which are none where it finds no rows.
async fn columns<S: Server>(lent: &mut Lent<S>, statement: &Statement) -> Result<Vec<String>, Failure> {
    match S::columns(lent.ask(), statement).await {
        Ok(columns) => {
            lent.answered();
            Ok(columns)
        }
        Err(cause) => Err(failed(lent, statement, &cause)),
    }
}

/// A statement that has been prepared by itself, as a SELECT of rows of bounded size.
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
    let message = format!("a scan is one SELECT that can be a subquery: {}", failure.message);
    Err(Failure { kind: FailureKind::Refused, message, ..failure })
}

/// Why a statement that was prepared or run gave no answer.
fn failed<S: Server>(lent: &mut Lent<S>, statement: &Statement, cause: &sqlx::Error) -> Failure {
    if cause.as_database_error().is_some() {
        lent.answered();
    }
    if S::is_row_too_large(cause) {
        return Failure::row_too_large();
    }
    Failure::of(cause, |seen| statement.place(seen))
}

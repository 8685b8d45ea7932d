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
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use futures_util::future::join_all;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::{Environment, SourceSettings, SourcesConfig};
use crate::error::{Error, Result};
pub use failure::{Failure, FailureKind};
pub use found::Found;
pub use server::Checked;
pub use statement::Kind;

use found::Gathering;
use listener::Listener;
use mysql::MySql;
use postgres::Postgres;
use server::{Lent, Server};
use sqlite::Sqlite;
use statement::{Parameter, Statement};

/// How much longer than it allows a statement we wait for the source's own word that it took too long.
const GRACE: Duration = Duration::from_millis(500);

/// How long whoever stops waits for what runs on the sources to end.
const CLOSES_WITHIN: Duration = Duration::from_secs(3);

/// The most steps of a plan that are shown.
const STEPS: usize = 1_000;

/// All that the settings name.
#[derive(Debug, Default)]
pub struct Sources(Vec<Source>);

/// One database.
#[derive(Debug)]
pub struct Source {
    settings: SourceSettings,
    server: Kinds,
    permits: Arc<Semaphore>,
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
            "sqlite" => Sqlite::new(url, settings.timeout).map(|server| (Kinds::Sqlite(Arc::new(server)), None)),
            _ => MySql::new(url).map(|server| (Kinds::MySql(Arc::new(server)), None)),
        }
        // What the driver says may show the URL.
        .map_err(|_| {
            Error::Config(format!("TIDINGS_SOURCES: {:?}: `url` cannot be used: is it a URL?", settings.name))
        })?;
        let permits = Arc::new(Semaphore::new(settings.connections as usize));
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

    /// What a statement finds; at most `limit` rows, and 16 MiB.
    pub async fn scan(&self, query: Query<'_>) -> Result<Found, Failure> {
        let statement = Statement::read(self.kind(), query.sql)?;
        match &self.server {
            Kinds::Postgres(server) => self.found(server, &statement, query).await,
            Kinds::MySql(server) => self.found(server, &statement, query).await,
            Kinds::Sqlite(server) => self.found(server, &statement, query).await,
        }
    }

    /// How the source would go about it, in its own words: text of PostgreSQL and SQLite, JSON of MySQL and MariaDB. It is not run.
    pub async fn plan(&self, query: Query<'_>) -> Result<String, Failure> {
        let statement = Statement::read(self.kind(), query.sql)?;
        let query = Query { limit: STEPS, ..query };
        let found = match &self.server {
            Kinds::Postgres(server) => self.found(server, &statement.after(Postgres::EXPLAIN), query).await,
            Kinds::MySql(server) => self.found(server, &statement.after(MySql::EXPLAIN), query).await,
            Kinds::Sqlite(server) => self.found(server, &statement.after(Sqlite::EXPLAIN), query).await,
        }?;
        // SQLite's words stand last.
        let lines = found.rows.iter().filter_map(|row| row.get(found.columns.last()?)?.as_str());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Whether it answers, what it is, and what it lets us do that no scan needs.
    pub async fn check(&self) -> Result<Checked, Failure> {
        match &self.server {
            Kinds::Postgres(server) => self.checked(server).await,
            Kinds::MySql(server) => self.checked(server).await,
            Kinds::Sqlite(server) => self.checked(server).await,
        }
    }

    /// What is notified on the channel of its settings, from now on; nothing where it has none. A text is empty where
    /// the connection was away, and something may have been missed. Whoever lags behind is told by the receiver.
    pub fn notifications(&self) -> Option<broadcast::Receiver<Arc<str>>> {
        self.listener.as_ref().map(Listener::subscribe)
    }

    async fn found<S: Server>(
        &self,
        server: &Arc<S>,
        statement: &Statement,
        query: Query<'_>,
    ) -> Result<Found, Failure> {
        let limit = query.limit.min(self.max_rows());
        let since = query.since.unwrap_or(DateTime::UNIX_EPOCH);
        let instants: Vec<_> = statement
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Now => query.now,
                Parameter::Since => since,
            })
            .collect();
        let failed = |lent: &mut Lent<S>, cause: sqlx::Error| {
            if cause.as_database_error().is_some() {
                lent.answered();
            }
            Failure::of(&cause, |seen| statement.place(seen))
        };
        let until = Instant::now() + query.timeout.min(self.timeout());
        // In a box, since connecting is large and rare.
        let scan = Box::pin(async {
            let mut lent = self.lend(server, until).await.map_err(Failure::in_short)?;
            let columns = match S::columns(lent.ask(), statement).await {
                Ok(columns) => columns,
                Err(cause) => return Err(failed(&mut lent, cause)),
            };
            lent.answered();
            let mut gathering = Gathering::of(columns, limit)?;
            let mut rows = S::rows(lent.ask(), statement, &instants);
            let ended = loop {
                match rows.try_next().await {
                    Ok(None) => break Ok(true),
                    Ok(Some(row)) if gathering.takes(|index| S::value(&row, index))? => {}
                    Ok(Some(_)) => break Ok(false),
                    Err(cause) => break Err(cause),
                }
            };
            drop(rows);
            match ended {
                Ok(true) => lent.answered(),
                Ok(false) => {}
                Err(cause) => return Err(failed(&mut lent, cause).without_values()),
            }
            Ok(gathering.end())
        });
        self.bound(until, scan).await
    }

    async fn checked<S: Server>(&self, server: &Arc<S>) -> Result<Checked, Failure> {
        let until = Instant::now() + self.timeout();
        let check = Box::pin(async {
            let mut lent = self.lend(server, until).await?;
            let checked = S::check(lent.ask()).await.map_err(|cause| Failure::from(&cause))?;
            lent.answered();
            Ok(checked)
        });
        self.bound(until, check).await
    }

    /// A connection in which a statement may take what is left of the time.
    async fn lend<S: Server>(&self, server: &Arc<S>, until: Instant) -> Result<Lent<S>, Failure> {
        let permit = match timeout_at(until, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(Failure::closing()),
            Err(_) => return Err(Failure::no_connection()),
        };
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
        // Those that are given back have ended.
        let _ = timeout(CLOSES_WITHIN, self.permits.acquire_many(self.settings.connections)).await;
        self.permits.close();
    }
}

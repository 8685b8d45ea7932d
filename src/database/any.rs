//! One interface over the three drivers.

use std::time::Duration;

use sea_orm::{DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement};
use sea_query_sqlx::SqlxValues;
use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::query::Query;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, IntoArguments};
use tokio::time::Instant;

use super::lineage::Lineage;
use super::pool::{Connections, Lent};

/// A pool for one of the three databases.
#[derive(Clone, Debug)]
pub enum Any {
    Sqlite(Connections<SqliteConnection>),
    Postgres(Connections<PgConnection>),
    MySql(Connections<MySqlConnection>),
}

/// A connection of one of these pools, in use.
#[derive(Debug)]
pub enum AnyLent {
    Sqlite(Lent<SqliteConnection>),
    Postgres(Lent<PgConnection>),
    MySql(Lent<MySqlConnection>),
}

/// Runs the same code for each variant.
macro_rules! each {
    ($of:ident, $any:expr, $one:ident => $work:expr) => {
        match $any {
            $of::Sqlite($one) => $work,
            $of::Postgres($one) => $work,
            $of::MySql($one) => $work,
        }
    };
}

impl Any {
    pub fn backend(&self) -> DbBackend {
        match self {
            Self::Sqlite(_) => DbBackend::Sqlite,
            Self::Postgres(_) => DbBackend::Postgres,
            Self::MySql(_) => DbBackend::MySql,
        }
    }

    pub async fn lend(&self) -> Result<AnyLent, DbErr> {
        Ok(match self {
            Self::Sqlite(connections) => AnyLent::Sqlite(connections.lend().await?),
            Self::Postgres(connections) => AnyLent::Postgres(connections.lend().await?),
            Self::MySql(connections) => AnyLent::MySql(connections.lend().await?),
        })
    }

    /// When an acquire that starts now times out.
    pub fn waits_until(&self) -> Instant {
        each!(Self, self, connections => connections.waits_until())
    }

    /// The maximum number of connections.
    pub fn many(&self) -> usize {
        each!(Self, self, connections => connections.many())
    }

    /// How long an acquire waits.
    pub fn patience(&self) -> Duration {
        each!(Self, self, connections => connections.patience())
    }

    /// The number of open connections, and how many of them are idle.
    pub fn count(&self) -> (usize, usize) {
        each!(Self, self, connections => connections.count())
    }

    /// Closes idle connections to a lineage that the fence does not admit.
    pub async fn close_strays(&self) {
        each!(Self, self, connections => connections.close_strays().await);
    }

    pub async fn close(&self) {
        each!(Self, self, connections => connections.close().await);
    }
}

impl AnyLent {
    /// Runs a statement and reads all its rows.
    pub async fn all(&mut self, statement: &Statement) -> Result<Vec<QueryResult>, DbErr> {
        each!(Self, self, lent => {
            let rows = query(statement).fetch_all(lent.ask()).await.map_err(query_error)?;
            lent.answered();
            Ok(rows.into_iter().map(QueryResult::from).collect())
        })
    }

    /// Runs a statement that returns at most one row.
    pub async fn one(&mut self, statement: &Statement) -> Result<Option<QueryResult>, DbErr> {
        each!(Self, self, lent => {
            let row = query(statement).fetch_optional(lent.ask()).await.map_err(query_error)?;
            lent.answered();
            Ok(row.map(QueryResult::from))
        })
    }

    /// Runs a statement that writes.
    pub async fn run(&mut self, statement: &Statement) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = query(statement).execute(lent.ask()).await.map_err(exec_error)?;
            lent.answered();
            Ok(done.into())
        })
    }

    /// Runs SQL without preparing it.
    pub async fn run_text(&mut self, text: &str) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = sqlx::raw_sql(AssertSqlSafe(text)).execute(lent.ask()).await.map_err(exec_error)?;
            lent.answered();
            Ok(done.into())
        })
    }

    /// Asks for the connection's current lineage. `None` on SQLite.
    pub async fn look(&mut self) -> Result<Option<Lineage>, DbErr> {
        each!(Self, self, lent => lent.look().await.map_err(query_error))
    }

    /// Begins a transaction that may write.
    ///
    /// On SQLite it takes the write lock at once. Otherwise a transaction that reads before it writes would fail if the
    /// file changed in between, however long its busy timeout.
    pub async fn begin(&mut self) -> Result<(), DbErr> {
        let words = if matches!(self, Self::Sqlite(_)) { "BEGIN IMMEDIATE" } else { "BEGIN" };
        each!(Self, self, lent => lent.begin(words).await.map_err(exec_error))
    }

    /// Ends the transaction with `COMMIT` or `ROLLBACK`.
    pub async fn end(&mut self, words: &'static str) -> Result<(), DbErr> {
        each!(Self, self, lent => lent.end(words).await.map_err(exec_error))
    }
}

fn query<D: sqlx::Database>(statement: &Statement) -> Query<'_, D, SqlxValues>
where
    SqlxValues: IntoArguments<D>,
{
    let values = statement.values.clone().unwrap_or_else(|| sea_orm::Values(Vec::new()));
    sqlx::query_with(AssertSqlSafe(statement.sql.as_str()), SqlxValues(values))
}

fn query_error(cause: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(cause.into()))
}

fn exec_error(cause: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(cause.into()))
}

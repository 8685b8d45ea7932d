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

use super::lineage::DatabaseLineage;
use super::pool::{ConnectionPool, PooledConnection};

/// A pool for one of the three databases.
#[derive(Clone, Debug)]
pub enum AnyPool {
    Sqlite(ConnectionPool<SqliteConnection>),
    Postgres(ConnectionPool<PgConnection>),
    MySql(ConnectionPool<MySqlConnection>),
}

/// A connection of one of these pools, in use.
#[derive(Debug)]
pub enum AnyConnection {
    Sqlite(PooledConnection<SqliteConnection>),
    Postgres(PooledConnection<PgConnection>),
    MySql(PooledConnection<MySqlConnection>),
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

impl AnyPool {
    pub fn backend(&self) -> DbBackend {
        match self {
            Self::Sqlite(_) => DbBackend::Sqlite,
            Self::Postgres(_) => DbBackend::Postgres,
            Self::MySql(_) => DbBackend::MySql,
        }
    }

    pub async fn acquire(&self) -> Result<AnyConnection, DbErr> {
        Ok(match self {
            Self::Sqlite(connections) => AnyConnection::Sqlite(connections.acquire().await?),
            Self::Postgres(connections) => AnyConnection::Postgres(connections.acquire().await?),
            Self::MySql(connections) => AnyConnection::MySql(connections.acquire().await?),
        })
    }

    /// When an acquire that starts now times out.
    pub fn acquire_deadline(&self) -> Instant {
        each!(Self, self, connections => connections.acquire_deadline())
    }

    /// The maximum number of connections.
    pub fn max_connections(&self) -> usize {
        each!(Self, self, connections => connections.max_connections())
    }

    /// How long an acquire waits.
    pub fn acquire_timeout(&self) -> Duration {
        each!(Self, self, connections => connections.acquire_timeout())
    }

    /// The number of open connections, and how many of them are idle.
    pub fn connection_counts(&self) -> (usize, usize) {
        each!(Self, self, connections => connections.connection_counts())
    }

    /// Closes idle connections to a lineage that the fence does not admit.
    pub async fn close_stale(&self) {
        each!(Self, self, connections => connections.close_stale().await);
    }

    pub async fn close(&self) {
        each!(Self, self, connections => connections.close().await);
    }
}

impl AnyConnection {
    /// Runs a statement and reads all its rows.
    pub async fn query_all(&mut self, statement: &Statement) -> Result<Vec<QueryResult>, DbErr> {
        each!(Self, self, lent => {
            let rows = bind_query(statement).fetch_all(lent.start_request()).await.map_err(query_error)?;
            lent.finish_request();
            Ok(rows.into_iter().map(QueryResult::from).collect())
        })
    }

    /// Runs a statement that returns at most one row.
    pub async fn query_one(&mut self, statement: &Statement) -> Result<Option<QueryResult>, DbErr> {
        each!(Self, self, lent => {
            let row = bind_query(statement).fetch_optional(lent.start_request()).await.map_err(query_error)?;
            lent.finish_request();
            Ok(row.map(QueryResult::from))
        })
    }

    /// Runs a statement that writes.
    pub async fn execute(&mut self, statement: &Statement) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = bind_query(statement).execute(lent.start_request()).await.map_err(exec_error)?;
            lent.finish_request();
            Ok(done.into())
        })
    }

    /// Runs SQL without preparing it.
    pub async fn execute_simple(&mut self, text: &str) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = sqlx::raw_sql(AssertSqlSafe(text)).execute(lent.start_request()).await.map_err(exec_error)?;
            lent.finish_request();
            Ok(done.into())
        })
    }

    /// Asks for the connection's current lineage. `None` on SQLite.
    pub async fn query_lineage(&mut self) -> Result<Option<DatabaseLineage>, DbErr> {
        each!(Self, self, lent => lent.query_lineage().await.map_err(query_error))
    }

    /// Begins a transaction that may write.
    ///
    /// On SQLite it takes the write lock at once. Otherwise a transaction that reads before it writes would fail if the
    /// file changed in between, however long its busy timeout.
    pub async fn begin(&mut self) -> Result<(), DbErr> {
        let words = if matches!(self, Self::Sqlite(_)) { "BEGIN IMMEDIATE" } else { "BEGIN" };
        each!(Self, self, lent => lent.begin_transaction(words).await.map_err(exec_error))
    }

    /// Ends the transaction with `COMMIT` or `ROLLBACK`.
    pub async fn end_transaction(&mut self, words: &'static str) -> Result<(), DbErr> {
        each!(Self, self, lent => lent.end_transaction(words).await.map_err(exec_error))
    }
}

fn bind_query<D: sqlx::Database>(statement: &Statement) -> Query<'_, D, SqlxValues>
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

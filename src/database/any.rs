//! The same over each of the three drivers.

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

/// Connections of any of the three databases.
#[derive(Clone, Debug)]
pub enum Any {
    Sqlite(Connections<SqliteConnection>),
    Postgres(Connections<PgConnection>),
    MySql(Connections<MySqlConnection>),
}

/// One of them, while somebody uses it.
#[derive(Debug)]
pub enum AnyLent {
    Sqlite(Lent<SqliteConnection>),
    Postgres(Lent<PgConnection>),
    MySql(Lent<MySqlConnection>),
}

/// The same work with the one or the other.
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

    /// Until when whoever asks now for a connection waits for it.
    pub fn waits_until(&self) -> Instant {
        each!(Self, self, connections => connections.waits_until())
    }

    /// How many there may be.
    pub fn many(&self) -> usize {
        each!(Self, self, connections => connections.many())
    }

    /// How long a connection is waited for.
    pub fn patience(&self) -> Duration {
        each!(Self, self, connections => connections.patience())
    }

    /// How many are open, and how many of them nobody uses.
    pub fn count(&self) -> (usize, usize) {
        each!(Self, self, connections => connections.count())
    }

    /// Closes those at rest that lead elsewhere than the fence admits.
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

    /// Runs a statement that has a row at most.
    pub async fn one(&mut self, statement: &Statement) -> Result<Option<QueryResult>, DbErr> {
        each!(Self, self, lent => {
            let row = query(statement).fetch_optional(lent.ask()).await.map_err(query_error)?;
            lent.answered();
            Ok(row.map(QueryResult::from))
        })
    }

    /// Runs a statement that changes something.
    pub async fn run(&mut self, statement: &Statement) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = query(statement).execute(lent.ask()).await.map_err(exec_error)?;
            lent.answered();
            Ok(done.into())
        })
    }

    /// Sends text without preparing it.
    pub async fn run_text(&mut self, text: &str) -> Result<ExecResult, DbErr> {
        each!(Self, self, lent => {
            let done = sqlx::raw_sql(AssertSqlSafe(text)).execute(lent.ask()).await.map_err(exec_error)?;
            lent.answered();
            Ok(done.into())
        })
    }

    /// Asks where the connection leads by now; nothing of SQLite.
    pub async fn look(&mut self) -> Result<Option<Lineage>, DbErr> {
        each!(Self, self, lent => lent.look().await.map_err(query_error))
    }

    /// Begins a transaction that may write.
    ///
    /// On SQLite the write lock is taken at once: a transaction that reads first and writes then would find the
    /// file changed under it and fail, however long it were ready to wait.
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

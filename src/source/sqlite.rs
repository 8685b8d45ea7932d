//! SQLite: a file of somebody else's, which is only read.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Column, ConnectOptions, Executor, Row, Statement as _, TypeInfo, ValueRef};

use super::found::{Unfit, integer, real, text};
use super::server::{Checked, Server};
use super::statement::Statement;

/// After how many steps of its machine it looks whether it is to go on: some microseconds.
const STEPS: i32 = 1_000;

/// Rows that are read ahead of whoever takes them.
const AHEAD: usize = 4;

#[derive(Debug)]
pub struct Sqlite {
    options: SqliteConnectOptions,
}

impl Sqlite {
    pub fn new(url: &str, timeout: Duration) -> sqlx::Result<Self> {
        let options = SqliteConnectOptions::from_str(url)?
            .read_only(true)
            .create_if_missing(false)
            .busy_timeout(timeout)
            .pragma("query_only", "on")
            .pragma("trusted_schema", "off")
            .row_buffer_size(AHEAD)
            .disable_statement_logging();
        Ok(Self { options })
    }
}

impl Server for Sqlite {
    type Connection = SqliteConnection;
    /// Whether it is to stop.
    type Handle = Arc<AtomicBool>;
    type Row = SqliteRow;
    const EXPLAIN: &'static str = "EXPLAIN QUERY PLAN ";

    async fn open(&self) -> sqlx::Result<SqliteConnection> {
        self.options.connect().await
    }

    async fn begin(connection: &mut SqliteConnection, allowed: Duration) -> sqlx::Result<Arc<AtomicBool>> {
        let stops = Arc::<AtomicBool>::default();
        let (is_stopped, until) = (stops.clone(), Instant::now() + allowed);
        connection
            .lock_handle()
            .await?
            .set_progress_handler(STEPS, move || !is_stopped.load(Ordering::Relaxed) && Instant::now() < until);
        Ok(stops)
    }

    async fn cancel(&self, stops: Arc<AtomicBool>) -> sqlx::Result<()> {
        stops.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn columns<'a>(
        connection: &'a mut SqliteConnection,
        statement: &'a Statement,
    ) -> BoxFuture<'a, sqlx::Result<Vec<String>>> {
        Box::pin(async move {
            let sql = sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(statement.sql.clone()));
            let prepared = connection.prepare_with(sql, &[]).await?;
            Ok(prepared.columns().iter().map(|column| column.name().to_owned()).collect())
        })
    }

    /// As `datetime('now')` writes it, whose fractions are cut off.
    fn rows<'a>(
        connection: &'a mut SqliteConnection,
        statement: &'a Statement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<SqliteRow>> {
        let mut arguments = SqliteArguments::default();
        for instant in instants {
            arguments.add(instant.format("%Y-%m-%d %H:%M:%S").to_string()).expect("a text can be written");
        }
        sqlx::query_with(AssertSqlSafe(statement.sql.clone()), arguments).fetch(connection)
    }

    fn value(row: &SqliteRow, index: usize) -> Result<Value, Unfit> {
        let value = row.try_get_raw(index).map_err(|_| Unfit::Broken)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let declared = row.columns().get(index).map_or("", |column| column.type_info().name());
        Ok(match value.type_info().name() {
            "INTEGER" => match row.try_get_unchecked::<i64, _>(index).map_err(|_| Unfit::Broken)? {
                number @ (0 | 1) if declared == "BOOLEAN" => (number == 1).into(),
                number => integer(number),
            },
            "REAL" => real(row.try_get_unchecked(index).map_err(|_| Unfit::Broken)?),
            "TEXT" => text(row.try_get_unchecked::<&[u8], _>(index).map_err(|_| Unfit::Broken)?)?,
            other => return Err(Unfit::Type(other.to_lowercase())),
        })
    }

    fn check(connection: &mut SqliteConnection) -> BoxFuture<'_, sqlx::Result<Checked>> {
        Box::pin(async move {
            // Reads the file, which opening it does not.
            let _: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut *connection).await?;
            let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(connection).await?;
            Ok(Checked { version: format!("SQLite {version}"), may: Vec::new() })
        })
    }
}

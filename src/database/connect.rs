//! Pools set up for each database as Tidings needs them.

use std::str::FromStr;
use std::time::Duration;

use sea_orm::{DatabaseConnection, SqlxMySqlConnector, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::ConnectOptions;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::time::timeout;

use super::Database;
use crate::error::{Error, Result};

/// How long a request waits for a connection before it is told that the server is overloaded.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection that has rested this long is tried before it is used: the server may have been restarted.
///
/// So a request that comes a second after a restart meets no stale connection: one that rested since is tried, and one that
/// was used since has failed and is gone. Trying every time (`test_before_acquire`) would cost a round trip a statement; the
/// pool hands its connections out in turn, so that like this a busy server tries none, and one of 16 connections begins
/// to below 32 statements a second.
const TEST_AFTER_IDLE: Duration = Duration::from_millis(500);

/// How long a connection may take to end a statement that was given up, before it is closed.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(1);

/// Prepared statements kept a connection. Ours are about fifty, some of them in ten lengths.
const STATEMENTS: usize = 500;

/// Opens the database at `url` (`sqlite:`, `postgres:` or `mysql:`) with at most `connections` connections.
///
/// Fails with `Config` where the URL is none of these or nothing answers there.
pub async fn connect(url: &str, connections: u32) -> Result<Database> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => sqlite(url, connections).await,
        Some("postgres" | "postgresql") => postgres(url, connections).await.map(shared),
        Some("mysql" | "mariadb") => mysql(url, connections).await.map(shared),
        _ => Err(Error::Config("DATABASE_URL must begin with sqlite:, postgres: or mysql:".into())),
    }
}

/// WAL, so that readers never wait for the writer; `synchronous = FULL`, so that what was acknowledged survives a
/// loss of power.
async fn sqlite(url: &str, connections: u32) -> Result<Database> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(unusable)?
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .pragma("cache_size", "-8192")
        .pragma("temp_store", "memory")
        .statement_cache_capacity(STATEMENTS)
        .optimize_on_close(true, None)
        .disable_statement_logging();
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(30))
        .test_before_acquire(false)
        .connect_with(options.clone())
        .await
        .map_err(unusable)?;
    let read = SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .connect_with(options.pragma("query_only", "on"))
        .await
        .map_err(unusable)?;
    Ok(Database::over(
        SqlxSqliteConnector::from_sqlx_sqlite_pool(read),
        SqlxSqliteConnector::from_sqlx_sqlite_pool(write),
    ))
}

async fn postgres(url: &str, connections: u32) -> Result<DatabaseConnection> {
    let options = PgConnectOptions::from_str(url)
        .map_err(unusable)?
        .application_name("tidings")
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging();
    reach(&options).await?;
    let pool = pooled(PgPoolOptions::new(), connections).connect_with(options).await.map_err(unusable)?;
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
}

/// READ COMMITTED, as on PostgreSQL: with MySQL's own REPEATABLE READ, sync would lock all that it reads, and would
/// read a state from before it held its lock.
async fn mysql(url: &str, connections: u32) -> Result<DatabaseConnection> {
    let options = MySqlConnectOptions::from_str(url)
        .map_err(unusable)?
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging();
    reach(&options).await?;
    let pool = pooled(MySqlPoolOptions::new(), connections)
        .after_connect(|connection, _| {
            Box::pin(async move {
                let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
                sqlx::Executor::execute(connection, isolation).await.map(|_| ())
            })
        })
        // Where a request is given up while its statement is prepared, the driver waits for rows that never come, and
        // with it the pool for the connection. This costs nothing where all was read.
        .after_release(|connection, _| {
            Box::pin(async move {
                let ended = timeout(GIVEN_UP_WITHIN, sqlx::Connection::flush(connection)).await;
                Ok(matches!(ended, Ok(Ok(()))))
            })
        })
        .connect_with(options)
        .await
        .map_err(unusable)?;
    Ok(SqlxMySqlConnector::from_sqlx_mysql_pool(pool))
}

/// Opens a connection and closes it again: a pool would only say that it waited in vain, not why.
async fn reach<O: ConnectOptions>(options: &O) -> Result<()>
where
    O::Connection: sqlx::Connection + Sized,
{
    let connection = options.connect().await.map_err(unusable)?;
    sqlx::Connection::close(connection).await.map_err(unusable)
}

fn pooled<DB: sqlx::Database>(options: PoolOptions<DB>, connections: u32) -> PoolOptions<DB> {
    options.max_connections(connections).acquire_timeout(ACQUIRE_TIMEOUT).test_before_acquire(false).before_acquire(
        |connection, resting| {
            Box::pin(async move {
                if resting.idle_for < TEST_AFTER_IDLE {
                    return Ok(true);
                }
                Ok(sqlx::Connection::ping(connection).await.is_ok())
            })
        },
    )
}

fn shared(pool: DatabaseConnection) -> Database {
    Database::over(pool.clone(), pool)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn unusable(cause: sqlx::Error) -> Error {
    Error::Config(format!("DATABASE_URL cannot be used: {cause}"))
}

//! Pools set up for each database as Tidings needs them.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::{DatabaseConnection, DbErr, RuntimeErr, SqlxMySqlConnector, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, pool::PoolOptions};

use super::Database;
use super::alone::{file_of, folder_of};
use super::any::Any;
use super::encoding;
use super::hosts::each_host;
use super::lineage::{Fence, Lineage};
use super::pool::Connections;
use super::pooler;
use crate::config::DatabaseConfig;
use crate::error::{Ailment, Error, Result, words_of};

/// How long a request waits for a connection before it is told that the server is overloaded, with whatever it has waited for
/// before in a line of others who want the same.
pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a request waits for the one connection that writes to a file: as long as an operation may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long that connection waits for another program that writes to the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// What each connection to PostgreSQL is told. Behind a pooler that is up to the pooler, by its `connect_query`: what we told a
/// connection there, others would have.
///
/// A row that others hold is waited for for 5 s, no statement takes longer than 30 s, and a transaction in which nothing happens for
/// a minute is one whose node has gone: all of it is over on the server, too, so that whatever it locked is free again. Since
/// PostgreSQL 14 the server notices itself that nobody waits for an answer any more.
const POSTGRES: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
    SET lock_timeout = '5s'; \
    SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '1min'; SET tcp_keepalives_idle = 20; \
    SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; \
    SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'";

/// The same for MySQL and MariaDB, each of which passes over what is for the other.
const MYSQL: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION innodb_lock_wait_timeout = 5, \
    lock_wait_timeout = 5 /*!50708 , max_execution_time = 30000 */ \
    /*M!100101 , max_statement_time = 30 */ /*M!100300 , idle_transaction_timeout = 60 */";

/// How long migrations wait for those of another server, as on the other databases.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Prepared statements kept a connection. Ours are about fifty, some of them in ten lengths.
const STATEMENTS: usize = 500;

/// Opens the database at `url` (`sqlite:`, `postgres:` or `mysql:`) with at most `connections` connections.
///
/// Fails with `Config` where the URL is none of these or what answers there refuses us, and with `Unavailable` where nothing does.
pub async fn connect(url: &str, connections: u32) -> Result<Database> {
    open(&DatabaseConfig { url: Some(url.to_owned()), connections, pooler: None, direct_url: None }).await
}

/// The same by settings, which say whether there is a pooler before it.
///
/// Fails with `Config` also where there is one and they do not say so, and where it is one that cannot be used.
pub async fn open(config: &DatabaseConfig) -> Result<Database> {
    config.check()?;
    let (url, connections) = (config.url(), config.connections);
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => sqlite(url, connections).await,
        Some("postgres" | "postgresql") => postgres(config).await,
        Some("mysql" | "mariadb") => mysql(url, connections).await,
        _ => Err(Error::Config("DATABASE_URL must begin with sqlite:, postgres: or mysql:".into())),
    }
}

/// The same for whoever only wants to look: where SQLite would make a file, there is nothing to open.
pub async fn without_a_trace(config: &DatabaseConfig) -> Result<Option<Database>> {
    let url = config.url();
    let Some(file) = file_of(url).filter(|file| !file.exists()) else {
        return open(config).await.map(Some);
    };
    let folder = folder_of(&file);
    let cannot = |why: &str| Err(Error::Config(format!("there is no {}, and {why}", file.display())));
    if !url.contains("mode=rwc") {
        return cannot(NO_MODE);
    }
    #[cfg(unix)]
    if let Err(error) = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        return cannot(&format!("none can be made in {}: {error}", folder.display()));
    }
    Ok(None)
}

/// Why SQLite does not open a file that is not there.
const NO_MODE: &str = "the URL does not end in ?mode=rwc, by which one would be made";

/// WAL, so that readers never wait for the writer; `synchronous = FULL`, so that what was acknowledged survives a
/// loss of power.
async fn sqlite(url: &str, connections: u32) -> Result<Database> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| unreadable("DATABASE_URL", &error))?
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(LOCK_TIMEOUT)
        .pragma("cache_size", "-8192")
        .pragma("temp_store", "memory")
        .statement_cache_capacity(STATEMENTS)
        .optimize_on_close(true, None)
        .disable_statement_logging();
    let file = options.get_filename().to_owned();
    // By mode=memory each connection would have a database of its own.
    if file.as_os_str().is_empty() || url.contains("mode=memory") {
        let why = "names no file; for a database that is thrown away there is sqlite::memory:";
        return Err(Error::Config(format!("DATABASE_URL {why}")));
    }
    let unusable = |cause: DbErr| match cause {
        DbErr::Conn(RuntimeErr::SqlxError(cause)) => {
            let why = if file.exists() || url.contains("mode=") {
                words_of(&cause)
            } else {
                format!("there is none, and {NO_MODE}")
            };
            Error::Config(format!("DATABASE_URL: {} cannot be used: {why}", file.display()))
        }
        other => other.into(),
    };
    keep_private(&file, url.contains("mode=rwc"));
    let fence = Arc::new(Fence::default());
    let write = Connections::open(vec![options.clone()], None, (1, WRITE_TIMEOUT), &fence).await.map_err(unusable)?;
    let options = options.pragma("query_only", "on");
    let read = Connections::open(vec![options], None, (connections, ACQUIRE_TIMEOUT), &fence).await;
    let read = Any::Sqlite(read.map_err(unusable)?);
    encoding::check("DATABASE_URL", &mut read.lend().await?).await?;
    if let Some(number) = number(&file) {
        // All connections keep this file open, even if another file takes its path later (`Health`).
        fence.meets(&Lineage::of_file(number));
    }
    Ok(Database::over((read.clone(), Any::Sqlite(write)), read, fence, Some(&file)))
}

/// A file's inode number, by which a replaced file is told apart. `None` in memory, and on systems without inodes.
fn number(file: &Path) -> Option<u64> {
    #[cfg(unix)]
    return std::fs::metadata(file).ok().map(|of| std::os::unix::fs::MetadataExt::ino(&of));
    #[cfg(not(unix))]
    None
}

/// Lets the file's owner alone read and write it, and what SQLite has beside it, which takes over the file's mode: all tenants'
/// notifications are in there. Makes the file where SQLite is to make it. What cannot be done is told, and SQLite tells what it cannot use.
#[cfg(unix)]
fn keep_private(file: &Path, is_made: bool) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    /// What the owner's group and others may do.
    const OTHERS: u32 = 0o077;
    if is_made && !file.exists() {
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    }
    for suffix in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        let path = Path::new(&path);
        let Ok(metadata) = path.metadata() else { continue };
        let mode = metadata.permissions().mode();
        let is_private = mode & OTHERS == 0;
        if !metadata.is_file() || is_private {
            continue;
        }
        let shown = path.display();
        match std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & !OTHERS)) {
            Ok(()) => tracing::warn!("others could read {shown}: it is its owner's alone now"),
            Err(error) => tracing::warn!("others can read {shown}, and that cannot be changed: {error}"),
        }
    }
}

#[cfg(not(unix))]
fn keep_private(_file: &Path, _is_made: bool) {}

/// With plans that no value has a say in: a range or a probe of a key each, which is what the statements are written for.
///
/// PostgreSQL would plan a statement anew while it thinks that knowing the values pays. Where its statistics are behind, it
/// does not: for a tenant that they have not heard of, it took any index that begins with the tenant for one row's, and read
/// all that it had ever sent for each message. And what is small or empty it would read whole, again for each row of another table: where
/// nobody has a preference yet, it asks all types of all tenants for them rather than the message's own. What has no index is read whole
/// all the same, but at a price in the plan at which machine code would be made for each statement.
///
/// Nor do ranges become bitmaps, which lose their order, or joins hashes, which read one side whole: without statistics, or by those of when
/// the tables were empty, PostgreSQL would think that they cost less.
async fn postgres(config: &DatabaseConfig) -> Result<Database> {
    let unusable = |cause| unusable(config.setting(), cause);
    let options = |url: &String| {
        let options = PgConnectOptions::from_str(url).map_err(|error| unreadable(config.setting(), &error))?;
        // PgBouncer refuses parameters that it does not know, and we store no fractions.
        let options = options.application_name("tidings").extra_float_digits(None);
        Ok(options.statement_cache_capacity(STATEMENTS).disable_statement_logging())
    };
    let hosts = each_host(config.setting(), config.url())?.iter().map(options).collect::<Result<Vec<_>>>()?;
    let (greeting, fence) = (config.pooler.is_none().then_some(POSTGRES), Arc::new(Fence::default()));
    let aside = Connections::open(hosts.clone(), greeting, (1, ACQUIRE_TIMEOUT), &fence).await.map_err(unusable)?;
    let shared = Connections::open(hosts, greeting, (config.connections, ACQUIRE_TIMEOUT), &fence).await;
    let (aside, shared) = (Any::Postgres(aside), Any::Postgres(shared.map_err(unusable)?));
    pooler::check(config, [aside.lend().await?, shared.lend().await?]).await?;
    encoding::check(config.setting(), &mut aside.lend().await?).await?;
    Ok(Database::over((shared.clone(), shared), aside, fence, None))
}

/// READ COMMITTED, as on PostgreSQL: with MySQL's own REPEATABLE READ, sync would lock all that it reads, and would
/// read a state from before it held its lock.
async fn mysql(url: &str, connections: u32) -> Result<Database> {
    let options = |url: &String| {
        let options = MySqlConnectOptions::from_str(url).map_err(|error| unreadable("DATABASE_URL", &error))?;
        Ok(options.statement_cache_capacity(STATEMENTS).disable_statement_logging())
    };
    let hosts = each_host("DATABASE_URL", url)?.iter().map(options).collect::<Result<Vec<_>>>()?;
    let unusable = |cause| unusable("DATABASE_URL", cause);
    let fence = Arc::new(Fence::default());
    let aside = Connections::open(hosts.clone(), Some(MYSQL), (1, ACQUIRE_TIMEOUT), &fence).await.map_err(unusable)?;
    let shared = Connections::open(hosts, Some(MYSQL), (connections, ACQUIRE_TIMEOUT), &fence).await;
    let (aside, shared) = (Any::MySql(aside), Any::MySql(shared.map_err(unusable)?));
    encoding::check("DATABASE_URL", &mut aside.lend().await?).await?;
    Ok(Database::over((shared.clone(), shared), aside, fence, None))
}

/// A connection of its own for the migrator, which asks for the ORM's.
pub async fn for_migrations(connections: &Any) -> Result<DatabaseConnection> {
    fn single<D: sqlx::Database>() -> PoolOptions<D> {
        PoolOptions::new().max_connections(1)
    }
    Ok(match connections {
        Any::Sqlite(connections) => {
            // Another server that has just been started may be migrating it.
            let options = connections.options().clone().busy_timeout(MIGRATION_TIMEOUT);
            let pool = single().connect_with(options).await.map_err(away)?;
            SqlxSqliteConnector::from_sqlx_sqlite_pool(pool)
        }
        Any::Postgres(connections) => {
            let pool = single().connect_with(connections.options().clone()).await.map_err(away)?;
            SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
        }
        Any::MySql(connections) => {
            let pool = single().connect_with(connections.options().clone()).await.map_err(away)?;
            SqlxMySqlConnector::from_sqlx_mysql_pool(pool)
        }
    })
}

fn away(cause: sqlx::Error) -> Error {
    DbErr::Conn(RuntimeErr::SqlxError(cause.into())).into()
}

fn unreadable(setting: &str, cause: &sqlx::Error) -> Error {
    Error::Config(format!("{setting} cannot be used: {}", words_of(cause)))
}

/// Why nothing could be opened: `Unavailable` where that may pass, `Config` where somebody has to mend it.
fn unusable(setting: &str, cause: DbErr) -> Error {
    match cause {
        DbErr::Conn(RuntimeErr::SqlxError(cause)) if Ailment::of_driver(&cause).is_some() => {
            Error::Unavailable(format!("{setting} cannot be used: {}", words_of(&cause)))
        }
        DbErr::Conn(RuntimeErr::SqlxError(cause)) => unreadable(setting, &cause),
        other => other.into(),
    }
}

//! Opens the pools with the settings that Tidings needs on each database.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::{DatabaseConnection, DbErr, RuntimeErr, SqlxMySqlConnector, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::ConnectOptions;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::any_pool::AnyPool;
use super::file_lock::{parent_folder, sqlite_path};
use super::host_urls::urls_by_host;
use super::lineage::{DatabaseLineage, LineageFence};
use super::pool::ConnectionPool;
use super::{Database, encoding, pooler};
use base::config::DatabaseConfig;
use base::error::{DatabaseFailure, Error, Result, driver_message};

/// How long a request waits for a connection before it fails with an overload error. Time spent before in a queue of
/// similar requests counts too.
pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a request waits for SQLite's single write connection: as long as an operation may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the write connection waits for another program that writes to the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// Settings sent on each new PostgreSQL connection. Behind a pooler, its `connect_query` must make them: settings made
/// on a pooled connection would leak to other clients.
///
/// A statement waits at most 5 s for a row lock and runs at most 30 s. If a transaction is idle for a minute, its node
/// is considered gone. In all three cases the server aborts the work and releases its locks. Since PostgreSQL 14, the
/// server also notices by itself when a client has disconnected.
const POSTGRES: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
    SET lock_timeout = '5s'; \
    SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '1min'; SET tcp_keepalives_idle = 20; \
    SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; \
    SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'";

/// The same for MySQL and MariaDB. Each ignores the conditional comments of the other.
const MYSQL: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION innodb_lock_wait_timeout = 5, \
    lock_wait_timeout = 5 /*!50708 , max_execution_time = 30000 */ \
    /*M!100101 , max_statement_time = 30 */ /*M!100300 , idle_transaction_timeout = 60 */";

/// How long migrations wait for those of another node, as on the other databases.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Cached prepared statements per connection. Tidings has about fifty, some of them in ten lengths.
const STATEMENTS: usize = 500;

/// Opens the database at `url` (`sqlite:`, `postgres:` or `mysql:`) with at most `connections`
/// connections.
///
/// Fails with `Config` if the URL has another scheme or the server refuses the connection, and with `Unavailable` if it
/// is unreachable.
pub async fn connect(url: &str, connections: u32) -> Result<Database> {
    open(&DatabaseConfig { url: Some(url.to_owned()), connections, pooler: None, direct_url: None }).await
}

/// Opens the database that the settings describe, which also say whether there is a pooler in front of it.
///
/// Also fails with `Config` if there is a pooler that the settings do not mention, or one that cannot be used.
pub async fn open(config: &DatabaseConfig) -> Result<Database> {
    config.check()?;
    let (url, connections) = (config.url(), config.connections);
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => open_sqlite(url, connections).await,
        Some("postgres" | "postgresql") => open_postgres(config).await,
        Some("mysql" | "mariadb") => open_mysql(url, connections).await,
        _ => Err(Error::Config("DATABASE_URL must begin with sqlite:, postgres: or mysql:".into())),
    }
}

/// The same for read-only commands: `None` if the SQLite file does not exist yet, instead of creating it.
pub async fn open_existing(config: &DatabaseConfig) -> Result<Option<Database>> {
    let url = config.url();
    let Some(file) = sqlite_path(url).filter(|file| !file.exists()) else {
        return open(config).await.map(Some);
    };
    let folder = parent_folder(&file);
    let cannot = |why: &str| Err(Error::Config(format!("{} does not exist, and {why}", file.display())));
    if !url.contains("mode=rwc") {
        return cannot(NO_MODE);
    }
    #[cfg(unix)]
    if let Err(error) = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        return cannot(&format!("it cannot be created in {}: {error}", folder.display()));
    }
    Ok(None)
}

/// Why SQLite does not open a missing file.
const NO_MODE: &str = "the URL does not end in ?mode=rwc, which would create it";

/// WAL lets readers proceed while a transaction writes. `synchronous = FULL` makes acknowledged writes survive a loss
/// of power.
async fn open_sqlite(url: &str, connections: u32) -> Result<Database> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| invalid_url("DATABASE_URL", &error))?
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(LOCK_TIMEOUT)
        .pragma("cache_size", "-8192")
        .pragma("temp_store", "memory")
        .statement_cache_capacity(STATEMENTS)
        .optimize_on_close(true, None)
        .disable_statement_logging();
    let file = options.get_filename().to_owned();
    // With mode=memory each connection would have its own database.
    if file.as_os_str().is_empty() || url.contains("mode=memory") {
        let why = "names no file; use sqlite::memory: for a temporary database";
        return Err(Error::Config(format!("DATABASE_URL {why}")));
    }
    let unusable = |cause: DbErr| match cause {
        DbErr::Conn(RuntimeErr::SqlxError(cause)) => {
            let why = if file.exists() || url.contains("mode=") {
                driver_message(&cause)
            } else {
                format!("it does not exist, and {NO_MODE}")
            };
            Error::Config(format!("DATABASE_URL: {} cannot be used: {why}", file.display()))
        }
        other => other.into(),
    };
    restrict_permissions(&file, url.contains("mode=rwc"));
    let fence = Arc::new(LineageFence::default());
    let write =
        ConnectionPool::open(vec![options.clone()], None, (1, WRITE_TIMEOUT), &fence).await.map_err(unusable)?;
    let options = options.pragma("query_only", "on");
    let read = ConnectionPool::open(vec![options], None, (connections, ACQUIRE_TIMEOUT), &fence).await;
    let read = AnyPool::Sqlite(read.map_err(unusable)?);
    encoding::check_encoding("DATABASE_URL", &mut read.acquire().await?).await?;
    if let Some(number) = inode_number(&file) {
        // All connections keep this file open, even if another file replaces it at its path later (`DatabaseHealth`).
        fence.observe(&DatabaseLineage::from_inode(number));
    }
    Ok(Database::from_pools((read.clone(), AnyPool::Sqlite(write)), read, fence, Some(&file)))
}

/// The file's inode number, which changes when the file is replaced. `None` in memory, and on systems without inodes.
fn inode_number(file: &Path) -> Option<u64> {
    #[cfg(unix)]
    return std::fs::metadata(file).ok().map(|of| std::os::unix::fs::MetadataExt::ino(&of));
    #[cfg(not(unix))]
    None
}

/// Restricts the file and SQLite's files next to it (which inherit its mode) to its owner: it holds all tenants'
/// notifications. Creates the file if SQLite would. A failed change of mode is logged; SQLite reports files that it
/// cannot use.
#[cfg(unix)]
fn restrict_permissions(file: &Path, is_made: bool) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    /// The mode bits of the group and of others.
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
            Ok(()) => tracing::warn!("other users could read {shown}: now only its owner can"),
            Err(error) => {
                tracing::warn!("other users can read {shown}, and its permissions cannot be changed: {error}");
            }
        }
    }
}

#[cfg(not(unix))]
fn restrict_permissions(_file: &Path, _is_made: bool) {}

/// Forces generic plans that scan a range or probe a key of an index, as the statements are written for.
///
/// PostgreSQL replans a statement as long as it expects to gain from knowing the values, which goes wrong with outdated
/// statistics. For a tenant that they did not include, it assumed that any index beginning with the tenant id yields
/// one row, and read all that the tenant had ever sent for each message. Small or empty tables it would scan whole,
/// again for each row of another table: while there are no preferences, it would probe them for all types of all
/// tenants instead of only the message's own. Tables without an index are still scanned, but `enable_seqscan = off`
/// adds so much to their cost that each of these statements would be JIT-compiled; hence `jit = off`.
///
/// Bitmap scans (which lose the order) and hash or merge joins (which read one side whole) are off as well: without
/// statistics, or with those of empty tables, PostgreSQL would underestimate their cost.
async fn open_postgres(config: &DatabaseConfig) -> Result<Database> {
    let unusable = |cause| connect_error(config.setting_name(), cause);
    let options = |url: &String| {
        let options = PgConnectOptions::from_str(url).map_err(|error| invalid_url(config.setting_name(), &error))?;
        // PgBouncer refuses parameters that it does not know, and Tidings stores no fractions.
        let options = options.application_name("tidings").extra_float_digits(None);
        Ok(options.statement_cache_capacity(STATEMENTS).disable_statement_logging())
    };
    let hosts = urls_by_host(config.setting_name(), config.url())?.iter().map(options).collect::<Result<Vec<_>>>()?;
    let (greeting, fence) = (config.pooler.is_none().then_some(POSTGRES), Arc::new(LineageFence::default()));
    let aside = ConnectionPool::open(hosts.clone(), greeting, (1, ACQUIRE_TIMEOUT), &fence).await.map_err(unusable)?;
    let shared = ConnectionPool::open(hosts, greeting, (config.connections, ACQUIRE_TIMEOUT), &fence).await;
    let (aside, shared) = (AnyPool::Postgres(aside), AnyPool::Postgres(shared.map_err(unusable)?));
    pooler::check_pooler(config, [aside.acquire().await?, shared.acquire().await?]).await?;
    encoding::check_encoding(config.setting_name(), &mut aside.acquire().await?).await?;
    Ok(Database::from_pools((shared.clone(), shared), aside, fence, None))
}

/// Uses READ COMMITTED, as on PostgreSQL. With MySQL's default REPEATABLE READ, sync would lock all rows that it reads
/// and would read a snapshot older than its lock.
async fn open_mysql(url: &str, connections: u32) -> Result<Database> {
    let options = |url: &String| {
        let options = MySqlConnectOptions::from_str(url).map_err(|error| invalid_url("DATABASE_URL", &error))?;
        Ok(options.statement_cache_capacity(STATEMENTS).disable_statement_logging())
    };
    let hosts = urls_by_host("DATABASE_URL", url)?.iter().map(options).collect::<Result<Vec<_>>>()?;
    let unusable = |cause| connect_error("DATABASE_URL", cause);
    let fence = Arc::new(LineageFence::default());
    let aside =
        ConnectionPool::open(hosts.clone(), Some(MYSQL), (1, ACQUIRE_TIMEOUT), &fence).await.map_err(unusable)?;
    let shared = ConnectionPool::open(hosts, Some(MYSQL), (connections, ACQUIRE_TIMEOUT), &fence).await;
    let (aside, shared) = (AnyPool::MySql(aside), AnyPool::MySql(shared.map_err(unusable)?));
    encoding::check_encoding("DATABASE_URL", &mut aside.acquire().await?).await?;
    Ok(Database::from_pools((shared.clone(), shared), aside, fence, None))
}

/// A separate SeaORM connection, which the migrator requires.
pub async fn open_for_migrations(connections: &AnyPool) -> Result<DatabaseConnection> {
    fn single<D: sqlx::Database>() -> PoolOptions<D> {
        PoolOptions::new().max_connections(1)
    }
    Ok(match connections {
        AnyPool::Sqlite(connections) => {
            // Another server that has just been started may be migrating the file.
            let options = connections.current_options().clone().busy_timeout(MIGRATION_TIMEOUT);
            let pool = single().connect_with(options).await.map_err(unavailable_error)?;
            SqlxSqliteConnector::from_sqlx_sqlite_pool(pool)
        }
        AnyPool::Postgres(connections) => {
            let pool = single().connect_with(connections.current_options().clone()).await.map_err(unavailable_error)?;
            SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
        }
        AnyPool::MySql(connections) => {
            let pool = single().connect_with(connections.current_options().clone()).await.map_err(unavailable_error)?;
            SqlxMySqlConnector::from_sqlx_mysql_pool(pool)
        }
    })
}

fn unavailable_error(cause: sqlx::Error) -> Error {
    DbErr::Conn(RuntimeErr::SqlxError(cause.into())).into()
}

fn invalid_url(setting: &str, cause: &sqlx::Error) -> Error {
    Error::Config(format!("{setting} cannot be used: {}", driver_message(cause)))
}

/// The error for a failed connection: `Unavailable` if it may pass by itself, `Config` if the operator must act.
fn connect_error(setting: &str, cause: DbErr) -> Error {
    match cause {
        DbErr::Conn(RuntimeErr::SqlxError(cause)) if DatabaseFailure::from_driver_error(&cause).is_some() => {
            Error::Unavailable(format!("{setting} cannot be used: {}", driver_message(&cause)))
        }
        DbErr::Conn(RuntimeErr::SqlxError(cause)) => invalid_url(setting, &cause),
        other => other.into(),
    }
}

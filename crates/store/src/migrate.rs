//! Runs the migrations that create the tables.

use std::time::Duration;

use entity::server;
use futures_util::future::BoxFuture;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, EntityTrait, SqliteTransactionMode, Statement, TransactionOptions,
    TransactionTrait,
};
use tokio::time::{Instant, sleep};

use super::retry::is_retryable;
use super::{Database, connect, sequences};
use base::error::{Error, Result};

/// The key of the lock that lets one node migrate at a time: "tidings" read as a base-36 number.
const MIGRATION_LOCK: i64 = 64_008_527_908;

/// How long migrations retry if they conflict with requests of other nodes, and the pause between two attempts.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(100);

/// The row of `server` with the name of the newest migration that programs must know in order to serve.
const NEEDS: &str = "needs";

/// The migrations of a database, compared with those of this program.
#[derive(Clone, Debug, Default)]
pub struct MigrationStatus {
    /// Migrations of this program that the database lacks, oldest first.
    pub pending: Vec<String>,
    /// Migrations of the database that this program does not know.
    pub unknown: Vec<String>,
    /// The newest migration that a program must know in order to serve, if one has said so.
    needs: Option<String>,
}

impl MigrationStatus {
    /// Fails with `Config` if this program is too old for the database. A program that is merely older may serve beside
    /// newer ones.
    pub fn check_compatible(&self) -> Result<()> {
        let is_needed = |name: &&String| self.unknown.contains(name);
        match (self.needs.as_ref().filter(is_needed), &*self.unknown, &*self.pending) {
            (Some(needs), ..) => Err(Error::Config(format!(
                "the database is newer than this program, which lacks the migration {needs}: start a newer version"
            ))),
            (None, [unknown, ..], [pending, ..]) => Err(Error::Config(format!(
                "the database has the migration {unknown}, which this program does not know, and lacks {pending}: \
                 the database and this program come from versions that do not build on each other"
            ))),
            _ => Ok(()),
        }
    }
}

impl MigrationStatus {
    /// Whether the database has no migrations at all, neither of this program nor of another version.
    fn are_all_pending(&self) -> bool {
        self.unknown.is_empty() && self.pending.len() == migration::migration_names().count()
    }
}

impl Database {
    /// Applies missing migrations and returns their names. Nodes that start at once wait for each other, for at most a
    /// minute. If none is missing it only reads, so that serving needs no right to create tables. Older nodes may serve
    /// meanwhile: if their requests conflict with the migrations, these are retried for up to a minute.
    ///
    /// Fails with `Config` if the database is too new for this program or cannot be migrated.
    pub fn migrate(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.apply_missing())
    }

    async fn apply_missing(&self) -> Result<Vec<String>> {
        let migrations = self.migration_status().await?;
        migrations.check_compatible()?;
        if migrations.pending.is_empty() {
            return Ok(Vec::new());
        }
        let db = connect::open_for_migrations(&self.write).await?;
        let until = Instant::now() + PATIENCE;
        let migrated = loop {
            match self.migrate_on(&db).await {
                Err(error) if self.has_transactional_ddl() && is_conflict(&error) && Instant::now() < until => {
                    tracing::info!("requests of other nodes block the migrations: retrying");
                    sleep(PAUSE).await;
                }
                migrated => break migrated,
            }
        };
        db.close().await?;
        self.checkpoint().await;
        migrated.map_err(migration_error)
    }

    /// Fails with `Config` if no migration was ever applied.
    pub async fn check_migrated(&self) -> Result<()> {
        if self.migration_status().await?.are_all_pending() {
            let why = "the database has no tables of Tidings, which `tidings serve` and `tidings migrate` create";
            return Err(Error::Config(format!("{why}: is DATABASE_URL right?")));
        }
        Ok(())
    }

    /// Checks whether the pending migrations would succeed, without changing anything. On SQLite it runs all of them in
    /// memory; on the other databases it only looks for tables of another program.
    ///
    /// Fails with `Config` if they would not.
    pub async fn rehearse_migrations(&self) -> Result<()> {
        let migrations = self.migration_status().await?;
        if migrations.pending.is_empty() {
            return Ok(());
        }
        if self.backend() == DbBackend::Sqlite {
            return self.rehearse_in_memory().await;
        }
        let schema = if self.backend() == DbBackend::Postgres { "current_schema()" } else { "DATABASE()" };
        let names = sequences::TABLES.map(|name| format!("'{name}'")).join(", ");
        let found = format!(
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = {schema} AND table_name IN ({names})"
        );
        let found = self.maintenance_reader().query_one_raw(Statement::from_string(self.backend(), found)).await?;
        match found.filter(|_| migrations.are_all_pending()) {
            Some(row) => Err(Error::Config(format!(
                "the database has a table {} that no migration has created: does it belong to another program?",
                row.try_get_by_index::<String>(0)?
            ))),
            None => Ok(()),
        }
    }

    /// Migrates an in-memory database with the same tables. They are empty except for the record of migrations.
    async fn rehearse_in_memory(&self) -> Result<()> {
        let words = |text: &str| Statement::from_string(DbBackend::Sqlite, text.to_owned());
        let tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
        let mut make: Vec<String> = Vec::new();
        for row in self.maintenance_reader().query_all_raw(words(tables)).await? {
            make.push(row.try_get_by_index(0)?);
        }
        if has_record_table(&self.maintenance_reader()).await? {
            let applied =
                "SELECT 'INSERT INTO seaql_migrations VALUES (' || quote(version) || ', 0)' FROM seaql_migrations";
            for row in self.maintenance_reader().query_all_raw(words(applied)).await? {
                make.push(row.try_get_by_index(0)?);
            }
        }
        let beside = connect::connect("sqlite::memory:", 2).await?;
        let migrated = async {
            let db = connect::open_for_migrations(&beside.write).await?;
            for words in make {
                db.execute_unprepared(&words).await?;
            }
            db.close().await?;
            beside.migrate().await
        };
        let migrated = migrated.await;
        beside.close().await;
        migrated.map(drop)
    }

    /// Whether changes of tables can be rolled back. MySQL commits each one.
    fn has_transactional_ddl(&self) -> bool {
        self.backend() != DbBackend::MySql
    }

    async fn migrate_on(&self, db: &DatabaseConnection) -> Result<Vec<String>> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await?;
        let (lock, unlock) = match self.backend() {
            DbBackend::Postgres => {
                // A pooler's connections have the timeouts of requests.
                let bounds = "SET LOCAL lock_timeout = '1min'; SET LOCAL statement_timeout = 0; \
                    SET LOCAL idle_in_transaction_session_timeout = 0";
                txn.execute_unprepared(bounds).await?;
                (Some(format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")), None)
            }
            // MySQL commits before each change of a table, so only a session lock lasts.
            DbBackend::MySql => {
                let name = format!("CONCAT('tidings', {MIGRATION_LOCK}, DATABASE())");
                (Some(format!("SELECT GET_LOCK({name}, 60)")), Some(format!("SELECT RELEASE_LOCK({name})")))
            }
            _ => (None, None),
        };
        let session_statement = |text: String| Statement::from_string(self.backend(), text);
        if let Some(lock) = lock {
            let answer = txn.query_one_raw(session_statement(lock)).await?;
            let is_held = match answer {
                Some(row) if unlock.is_some() => row.try_get_by_index::<Option<i64>>(0)? == Some(1),
                _ => true,
            };
            if !is_held {
                return Err(Error::Unavailable("another node has been migrating the database for a minute".into()));
            }
        }
        // Older nodes keep serving. A request that holds one table and waits for another would fail with a deadlock if
        // it waited for us for a second (`deadlock_timeout`), so we give up earlier.
        if self.backend() == DbBackend::Postgres {
            txn.execute_unprepared("SET LOCAL lock_timeout = '200ms'").await?;
        }
        // Another node may have applied some of them meanwhile.
        let migrated = async {
            read_status(&txn).await?.check_compatible()?;
            Ok(migration::apply_missing(&txn).await?)
        };
        let migrated = migrated.await;
        if let Some(unlock) = unlock {
            txn.query_one_raw(session_statement(unlock)).await?;
        }
        if migrated.is_err() && self.has_transactional_ddl() {
            txn.rollback().await?;
        } else {
            txn.commit().await?;
        }
        migrated
    }

    /// Reverts all migrations, which deletes all data. Returns their names, newest first.
    pub fn revert_migrations(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.revert_all())
    }

    async fn revert_all(&self) -> Result<Vec<String>> {
        let migrations = self.migration_status().await?;
        if let Some(unknown) = migrations.unknown.first() {
            let why = format!("this program cannot revert the migration {unknown}: use a newer version");
            return Err(Error::Config(why));
        }
        let db = connect::open_for_migrations(&self.write).await?;
        let unmigrated = migration::revert_applied(&db).await;
        db.close().await?;
        Ok(unmigrated?)
    }

    /// Fails with `Config` if the direct URL leads to a different database. Databases with pending migrations are only
    /// compared by these.
    pub async fn check_same_database(&self, direct: &Self) -> Result<()> {
        let (own, other) = (self.migration_status().await?.pending, direct.migration_status().await?.pending);
        if own == other && (!own.is_empty() || self.name().await? == direct.name().await?) {
            return Ok(());
        }
        Err(Error::Config("DATABASE_URL and TIDINGS_DIRECT_URL lead to different databases".into()))
    }

    /// Reads which migrations there are. It never waits for a writer.
    pub async fn migration_status(&self) -> Result<MigrationStatus> {
        read_status(&self.maintenance_reader()).await
    }
}

/// The error for a migration that cannot be applied to this database. Errors that may pass are left as they are.
fn migration_error(error: Error) -> Error {
    match error {
        Error::Internal(cause) if !is_retryable(&*cause) => Error::Config(format!(
            "the tables do not match the record of migrations, or belong to another program: no migration can be applied ({})",
            Error::Internal(cause).log_message()
        )),
        other => other,
    }
}

/// Whether the migrations conflicted with other transactions.
fn is_conflict(error: &Error) -> bool {
    error.is_lock_unavailable() || matches!(error, Error::Internal(cause) if is_retryable(&**cause))
}

async fn read_status(db: &impl ConnectionTrait) -> Result<MigrationStatus> {
    let known: Vec<String> = migration::migration_names().map(str::to_owned).collect();
    if !has_record_table(db).await? {
        return Ok(MigrationStatus { pending: known, ..MigrationStatus::default() });
    }
    let applied = migration::applied_names(db).await?;
    let lacks = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let (pending, unknown) = (lacks(&known, &applied), lacks(&applied, &known));
    let needs = if unknown.is_empty() { None } else { server::Entity::find_by_id(NEEDS).one(db).await? };
    Ok(MigrationStatus { pending, unknown, needs: needs.map(|row| row.value) })
}

/// Whether the table with the record of migrations exists.
async fn has_record_table(db: &impl ConnectionTrait) -> Result<bool> {
    let backend = db.get_database_backend();
    let tables = match backend {
        DbBackend::Postgres => "information_schema.tables WHERE table_schema = current_schema() AND table_name",
        DbBackend::MySql => "information_schema.tables WHERE table_schema = DATABASE() AND table_name",
        _ => "sqlite_master WHERE type = 'table' AND name",
    };
    let found = format!("SELECT 1 FROM {tables} = 'seaql_migrations'");
    Ok(db.query_one_raw(Statement::from_string(backend, found)).await?.is_some())
}

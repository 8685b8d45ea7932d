//! The tables, and how a database comes to have them.

use std::time::Duration;

use entity::server;
use futures_util::future::BoxFuture;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, EntityTrait, SqliteTransactionMode, Statement, TransactionOptions,
    TransactionTrait,
};
use tokio::time::{Instant, sleep};

use super::lost::lost_to_another;
use super::{Database, connect, generated};
use crate::error::{Error, Result};

/// Serialises the migrations of nodes that start at once. The number is "tidings" read as a base-36 number.
const MIGRATION_LOCK: i64 = 64_008_527_908;

/// How long migrations try to come between the requests of other nodes, and how long they leave these alone in between.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(100);

/// What is recorded in `server` by a migration with which older programs cannot serve: its own name.
const NEEDS: &str = "needs";

/// Which migrations there are, as this program sees it.
#[derive(Clone, Debug, Default)]
pub struct Migrations {
    /// Those of this program that the database lacks, oldest first.
    pub pending: Vec<String>,
    /// Those that the database has and this program does not know.
    pub unknown: Vec<String>,
    /// The newest that a program has to know in order to serve, where a migration has said so.
    needs: Option<String>,
}

impl Migrations {
    /// Fails with `Config` where this program is too old for the database. Where it is only older, it serves beside newer ones.
    pub fn check(&self) -> Result<()> {
        let is_needed = |name: &&String| self.unknown.contains(name);
        match (self.needs.as_ref().filter(is_needed), &*self.unknown, &*self.pending) {
            (Some(needs), ..) => Err(Error::Config(format!(
                "the database is newer than this program, which lacks the migration {needs}: start a newer version"
            ))),
            (None, [unknown, ..], [pending, ..]) => Err(Error::Config(format!(
                "the database has the migration {unknown}, which this program does not know, and lacks {pending}: \
                 they are of versions that do not follow each other"
            ))),
            _ => Ok(()),
        }
    }
}

impl Migrations {
    /// Whether the database has none of this program's, nor of another version's.
    fn are_all_pending(&self) -> bool {
        self.unknown.is_empty() && self.pending.len() == migration::names().count()
    }
}

impl Database {
    /// Applies what migrations are missing, and returns their names. Nodes that start at once wait for each other, for a minute at
    /// the most. Where none is missing nothing is asked for but to read, so that whoever may not make tables can serve. Older nodes
    /// may serve meanwhile: where their requests are in its way, it is tried again for a minute.
    ///
    /// Fails with `Config` where the database is too new.
    pub fn migrate(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.migrate_missing())
    }

    async fn migrate_missing(&self) -> Result<Vec<String>> {
        let migrations = self.migrations().await?;
        migrations.check()?;
        if migrations.pending.is_empty() {
            return Ok(Vec::new());
        }
        let db = connect::for_migrations(&self.write).await?;
        let until = Instant::now() + PATIENCE;
        let migrated = loop {
            match self.migrate_over(&db).await {
                Err(error) if self.takes_back() && gives_way(&error) && Instant::now() < until => {
                    tracing::info!("requests of other nodes are in the way of the migrations, which are tried again");
                    sleep(PAUSE).await;
                }
                migrated => break migrated,
            }
        };
        db.close().await?;
        self.write_down().await;
        migrated.map_err(unfit)
    }

    /// Fails with `Config` where nothing has ever been migrated.
    pub async fn is_made(&self) -> Result<()> {
        if self.migrations().await?.are_all_pending() {
            let why = "the database has no tables of Tidings, which `tidings serve` and `tidings migrate` make";
            return Err(Error::Config(format!("{why}: is DATABASE_URL right?")));
        }
        Ok(())
    }

    /// Finds what would be in the way of the migrations that are pending, and changes nothing. Of SQLite, all of it; of the other
    /// databases, tables of somebody else.
    ///
    /// Fails with `Config` where there is anything.
    pub async fn rehearse(&self) -> Result<()> {
        let migrations = self.migrations().await?;
        if migrations.pending.is_empty() {
            return Ok(());
        }
        if self.backend() == DbBackend::Sqlite {
            return self.rehearse_beside().await;
        }
        let schema = if self.backend() == DbBackend::Postgres { "current_schema()" } else { "DATABASE()" };
        let names = generated::TABLES.map(|name| format!("'{name}'")).join(", ");
        let found = format!(
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = {schema} AND table_name IN ({names})"
        );
        let found = self.aside().query_one_raw(Statement::from_string(self.backend(), found)).await?;
        match found.filter(|_| migrations.are_all_pending()) {
            Some(row) => Err(Error::Config(format!(
                "the database has a table {} that no migration has made: is it another program's?",
                row.try_get_by_index::<String>(0)?
            ))),
            None => Ok(()),
        }
    }

    /// Migrates a database in memory that has the same tables, and nothing in them but what is recorded as applied.
    async fn rehearse_beside(&self) -> Result<()> {
        let words = |text: &str| Statement::from_string(DbBackend::Sqlite, text.to_owned());
        let tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
        let mut make: Vec<String> = Vec::new();
        for row in self.aside().query_all_raw(words(tables)).await? {
            make.push(row.try_get_by_index(0)?);
        }
        if are_recorded(&self.aside()).await? {
            let applied =
                "SELECT 'INSERT INTO seaql_migrations VALUES (' || quote(version) || ', 0)' FROM seaql_migrations";
            for row in self.aside().query_all_raw(words(applied)).await? {
                make.push(row.try_get_by_index(0)?);
            }
        }
        let beside = connect::connect("sqlite::memory:", 2).await?;
        let migrated = async {
            let db = connect::for_migrations(&beside.write).await?;
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

    /// Whether changes of tables are part of a transaction. MySQL commits each.
    fn takes_back(&self) -> bool {
        self.backend() != DbBackend::MySql
    }

    async fn migrate_over(&self, db: &DatabaseConnection) -> Result<Vec<String>> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await?;
        let (lock, unlock) = match self.backend() {
            DbBackend::Postgres => {
                // A pooler's connections have bounds for statements of requests.
                let bounds = "SET LOCAL lock_timeout = '1min'; SET LOCAL statement_timeout = 0; \
                    SET LOCAL idle_in_transaction_session_timeout = 0";
                txn.execute_unprepared(bounds).await?;
                (Some(format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")), None)
            }
            // MySQL commits before each change of a table, so that only a lock of the session lasts.
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
        // Older nodes go on, and may hold one table and want another: whoever waits for us for a second would be told of a deadlock.
        if self.backend() == DbBackend::Postgres {
            txn.execute_unprepared("SET LOCAL lock_timeout = '200ms'").await?;
        }
        // Another node may have applied some of them meanwhile.
        let migrated = async {
            migrations(&txn).await?.check()?;
            Ok(migration::up(&txn).await?)
        };
        let migrated = migrated.await;
        if let Some(unlock) = unlock {
            txn.query_one_raw(session_statement(unlock)).await?;
        }
        if migrated.is_err() && self.takes_back() {
            txn.rollback().await?;
        } else {
            txn.commit().await?;
        }
        migrated
    }

    /// Takes all migrations back, and with them everything that is stored; returns their names, newest first.
    pub fn unmigrate(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.unmigrate_all())
    }

    async fn unmigrate_all(&self) -> Result<Vec<String>> {
        let migrations = self.migrations().await?;
        if let Some(unknown) = migrations.unknown.first() {
            let why = format!("this program does not know how to take {unknown} back: a newer version does");
            return Err(Error::Config(why));
        }
        let db = connect::for_migrations(&self.write).await?;
        let unmigrated = migration::down(&db).await;
        db.close().await?;
        Ok(unmigrated?)
    }

    /// Fails with `Config` where the direct URL leads to another database than this one. Of one without tables nobody can tell.
    pub async fn is(&self, direct: &Self) -> Result<()> {
        let (own, other) = (self.migrations().await?.pending, direct.migrations().await?.pending);
        if own == other && (!own.is_empty() || self.name().await? == direct.name().await?) {
            return Ok(());
        }
        Err(Error::Config("DATABASE_URL and TIDINGS_DIRECT_URL lead to two databases".into()))
    }

    /// Which migrations there are. It only reads, so that it waits for no writer.
    pub async fn migrations(&self) -> Result<Migrations> {
        migrations(&self.aside()).await
    }
}

/// What a migration that cannot be applied says of the database; what may pass is left as it is.
fn unfit(error: Error) -> Error {
    match error {
        Error::Internal(cause) if !lost_to_another(&*cause) => Error::Config(format!(
            "the database is not what its record of migrations says, or is another program's: no migration can be applied ({})",
            Error::Internal(cause).told()
        )),
        other => other,
    }
}

/// Whether others had what the migrations needed, or the other way round.
fn gives_way(error: &Error) -> bool {
    error.is_held() || matches!(error, Error::Internal(cause) if lost_to_another(&**cause))
}

async fn migrations(db: &impl ConnectionTrait) -> Result<Migrations> {
    let known: Vec<String> = migration::names().map(str::to_owned).collect();
    if !are_recorded(db).await? {
        return Ok(Migrations { pending: known, ..Migrations::default() });
    }
    let applied = migration::applied(db).await?;
    let lacks = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let (pending, unknown) = (lacks(&known, &applied), lacks(&applied, &known));
    let needs = if unknown.is_empty() { None } else { server::Entity::find_by_id(NEEDS).one(db).await? };
    Ok(Migrations { pending, unknown, needs: needs.map(|row| row.value) })
}

/// Whether the table is there in which migrations are recorded.
async fn are_recorded(db: &impl ConnectionTrait) -> Result<bool> {
    let backend = db.get_database_backend();
    let tables = match backend {
        DbBackend::Postgres => "information_schema.tables WHERE table_schema = current_schema() AND table_name",
        DbBackend::MySql => "information_schema.tables WHERE table_schema = DATABASE() AND table_name",
        _ => "sqlite_master WHERE type = 'table' AND name",
    };
    let found = format!("SELECT 1 FROM {tables} = 'seaql_migrations'");
    Ok(db.query_one_raw(Statement::from_string(backend, found)).await?.is_some())
}

//! The tables, and how a database comes to have them.

use migration::{Migrator, MigratorTrait};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, SqliteTransactionMode, Statement, TransactionOptions,
    TransactionTrait,
};

use super::{Database, connect};
use crate::error::{Error, Result};

/// Serialises the migrations of nodes that start at once. The number is "tidings" read as a base-36 number.
const MIGRATION_LOCK: i64 = 64_008_527_908;

impl Database {
    /// Applies what migrations are missing. Nodes that start at once wait for each other, for a minute at the most. Where none is
    /// missing nothing is asked for but to read, so that whoever may not make tables can serve.
    pub async fn migrate(&self) -> Result<()> {
        if self.pending_migrations().await? == 0 {
            return Ok(());
        }
        let db = connect::for_migrations(&self.write).await?;
        let migrated = self.migrate_over(&db).await;
        db.close().await?;
        migrated
    }

    async fn migrate_over(&self, db: &DatabaseConnection) -> Result<()> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await?;
        let (lock, unlock) = match self.backend() {
            DbBackend::Postgres => {
                txn.execute_unprepared("SET LOCAL lock_timeout = '1min'").await?;
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
        let migrated = Migrator::up(&txn, None).await;
        if let Some(unlock) = unlock {
            txn.query_one_raw(session_statement(unlock)).await?;
        }
        migrated?;
        txn.commit().await?;
        Ok(())
    }

    /// Takes all migrations back, and with them everything that is stored.
    pub async fn unmigrate(&self) -> Result<()> {
        let db = connect::for_migrations(&self.write).await?;
        let unmigrated = Migrator::down(&db, None).await;
        db.close().await?;
        Ok(unmigrated?)
    }

    /// How many migrations this program has that the database has not. It only reads, so that it waits for no writer.
    pub async fn pending_migrations(&self) -> Result<usize> {
        Ok(Migrator::get_pending_migrations_read_only(&self.aside()).await?.len())
    }
}

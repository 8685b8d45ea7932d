//! Applies and reverts migrations.
//!
//! Applied migrations are recorded in `seaql_migrations`, the table of SeaORM's own migrator. That migrator is not used
//! because it would add schema discovery and all SeaORM features to the build.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use sea_orm::sea_query::{ColumnDef, Expr, ExprTrait, Order, Query, Table, TableCreateStatement};
use sea_orm::{
    ConnectionTrait, DatabaseExecutor, DbBackend, DbErr, IntoDatabaseExecutor, QueryResult, StatementBuilder,
    TransactionTrait,
};

const APPLIED: &str = "seaql_migrations";

/// A schema change and its reversal.
#[async_trait]
pub trait MigrationTrait: Send + Sync {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr>;
    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr>;
}

/// The connection or transaction that changes the tables.
pub struct SchemaManager<'c>(DatabaseExecutor<'c>);

impl SchemaManager<'_> {
    pub fn backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    pub async fn execute(&self, statement: impl StatementBuilder) -> Result<(), DbErr> {
        self.0.execute(&statement).await?;
        Ok(())
    }

    pub async fn query_rows(&self, statement: impl StatementBuilder) -> Result<Vec<QueryResult>, DbErr> {
        self.0.query_all(&statement).await
    }

    pub async fn execute_unprepared(&self, statement: &str) -> Result<(), DbErr> {
        self.0.execute_unprepared(statement).await?;
        Ok(())
    }

    /// Applies or reverts a migration and records that. On PostgreSQL, both happen in one transaction.
    async fn run_migration(&self, name: &str, migration: &dyn MigrationTrait, is_up: bool) -> Result<(), DbErr> {
        if self.backend() != DbBackend::Postgres {
            return self.run_within(name, migration, is_up).await;
        }
        let txn = self.0.begin().await?;
        SchemaManager(DatabaseExecutor::from(&txn)).run_within(name, migration, is_up).await?;
        txn.commit().await
    }

    async fn run_within(&self, name: &str, migration: &dyn MigrationTrait, is_up: bool) -> Result<(), DbErr> {
        if !is_up {
            migration.down(self).await?;
            return self
                .execute(Query::delete().from_table(APPLIED).and_where(Expr::col("version").eq(name)).take())
                .await;
        }
        migration.up(self).await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| DbErr::Custom(error.to_string()))?;
        let now = i64::try_from(now.as_secs()).map_err(|error| DbErr::Custom(error.to_string()))?;
        let row = Query::insert()
            .into_table(APPLIED)
            .columns(["version", "applied_at"])
            .values_panic([name.into(), now.into()])
            .take();
        self.execute(row).await
    }
}

/// The names of the applied migrations, oldest first. Fails if there is no record yet.
pub async fn applied_names(db: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let versions = Query::select().column("version").from(APPLIED).order_by("version", Order::Asc).take();
    db.query_all(&versions).await?.iter().map(|row| row.try_get("", "version")).collect()
}

/// Applies the migrations that `db` lacks, oldest first, and returns their names.
pub async fn apply_missing<'c>(db: impl IntoDatabaseExecutor<'c>) -> Result<Vec<String>, DbErr> {
    let manager = SchemaManager(db.into_database_executor());
    manager.execute(record_table()).await?;
    let applied = applied_names(&manager.0).await?;
    let mut names = Vec::new();
    for (name, migration) in crate::MIGRATIONS.iter().filter(|(name, _)| !applied.iter().any(|applied| applied == name))
    {
        manager.run_migration(name, *migration, true).await?;
        names.push((*name).to_owned());
    }
    Ok(names)
}

/// Reverts the migrations that `db` has, newest first, and returns their names. Unknown ones are kept.
pub async fn revert_applied<'c>(db: impl IntoDatabaseExecutor<'c>) -> Result<Vec<String>, DbErr> {
    let manager = SchemaManager(db.into_database_executor());
    manager.execute(record_table()).await?;
    let applied = applied_names(&manager.0).await?;
    let mut names = Vec::new();
    for (name, migration) in
        crate::MIGRATIONS.iter().rev().filter(|(name, _)| applied.iter().any(|applied| applied == name))
    {
        manager.run_migration(name, *migration, false).await?;
        names.push((*name).to_owned());
    }
    Ok(names)
}

/// The table that records applied migrations.
fn record_table() -> TableCreateStatement {
    Table::create()
        .table(APPLIED)
        .if_not_exists()
        .col(ColumnDef::new("version").string().not_null().primary_key())
        .col(ColumnDef::new("applied_at").big_integer().not_null())
        .take()
}

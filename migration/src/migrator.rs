//! Applies migrations and takes them back.
//!
//! Which are applied stands in `seaql_migrations`, the table of SeaORM's own migrator. That one is not used, as it brings the
//! reading of schemas and all of SeaORM's features along to be compiled.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use sea_orm::sea_query::{ColumnDef, Expr, ExprTrait, Order, Query, Table, TableCreateStatement};
use sea_orm::{
    ConnectionTrait, DatabaseExecutor, DbBackend, DbErr, IntoDatabaseExecutor, QueryResult, StatementBuilder,
    TransactionTrait,
};

const APPLIED: &str = "seaql_migrations";

/// One change of the tables, with its way back.
#[async_trait]
pub trait MigrationTrait: Send + Sync {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr>;
    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr>;
}

/// The connection or transaction in which tables are changed.
pub struct SchemaManager<'c>(DatabaseExecutor<'c>);

impl SchemaManager<'_> {
    pub fn backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    pub async fn execute(&self, statement: impl StatementBuilder) -> Result<(), DbErr> {
        self.0.execute(&statement).await?;
        Ok(())
    }

    pub async fn rows(&self, statement: impl StatementBuilder) -> Result<Vec<QueryResult>, DbErr> {
        self.0.query_all(&statement).await
    }

    pub async fn execute_unprepared(&self, statement: &str) -> Result<(), DbErr> {
        self.0.execute_unprepared(statement).await?;
        Ok(())
    }

    /// Applies the migration, or takes it back, and records it. PostgreSQL does both or neither.
    async fn step(&self, name: &str, migration: &dyn MigrationTrait, is_up: bool) -> Result<(), DbErr> {
        if self.backend() != DbBackend::Postgres {
            return self.step_within(name, migration, is_up).await;
        }
        let txn = self.0.begin().await?;
        SchemaManager(DatabaseExecutor::from(&txn)).step_within(name, migration, is_up).await?;
        txn.commit().await
    }

    async fn step_within(&self, name: &str, migration: &dyn MigrationTrait, is_up: bool) -> Result<(), DbErr> {
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

/// The names of the migrations that `db` has, oldest first. Fails where nothing was ever migrated.
pub async fn applied(db: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let versions = Query::select().column("version").from(APPLIED).order_by("version", Order::Asc).take();
    db.query_all(&versions).await?.iter().map(|row| row.try_get("", "version")).collect()
}

/// Applies what migrations `db` lacks, oldest first, and returns their names.
pub async fn up<'c>(db: impl IntoDatabaseExecutor<'c>) -> Result<Vec<String>, DbErr> {
    let manager = SchemaManager(db.into_database_executor());
    manager.execute(record()).await?;
    let applied = applied(&manager.0).await?;
    let mut names = Vec::new();
    for (name, migration) in crate::MIGRATIONS.iter().filter(|(name, _)| !applied.iter().any(|applied| applied == name))
    {
        manager.step(name, *migration, true).await?;
        names.push((*name).to_owned());
    }
    Ok(names)
}

/// Takes back what migrations `db` has, newest first, and returns their names. Those that it does not know stay.
pub async fn down<'c>(db: impl IntoDatabaseExecutor<'c>) -> Result<Vec<String>, DbErr> {
    let manager = SchemaManager(db.into_database_executor());
    manager.execute(record()).await?;
    let applied = applied(&manager.0).await?;
    let mut names = Vec::new();
    for (name, migration) in
        crate::MIGRATIONS.iter().rev().filter(|(name, _)| applied.iter().any(|applied| applied == name))
    {
        manager.step(name, *migration, false).await?;
        names.push((*name).to_owned());
    }
    Ok(names)
}

/// The table of what is applied.
fn record() -> TableCreateStatement {
    Table::create()
        .table(APPLIED)
        .if_not_exists()
        .col(ColumnDef::new("version").string().not_null().primary_key())
        .col(ColumnDef::new("applied_at").big_integer().not_null())
        .take()
}

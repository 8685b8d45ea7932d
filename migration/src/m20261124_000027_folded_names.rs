//! Prefix search for users, by name (ignoring case) and by id.

use async_trait::async_trait;
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait, Order, Query, Table};
use sea_orm::{DbBackend, DbErr};

use crate::dialect::{create_index, string_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

/// How many characters of a name are searched.
const CHARACTERS: u16 = 128;

/// Batch size for folding the names of existing users.
const USERS: u64 = 500;

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let mut column = string_or_none("folded_name", CHARACTERS.into());
        manager.execute(Table::alter().table("users").add_column(&mut column).take()).await?;
        fold_names(manager).await?;
        if manager.backend() == DbBackend::Postgres {
            // A range scan only finds a prefix if the index is in byte order.
            for (name, column) in [("users_id_prefix", "external_id"), ("users_folded_name", "folded_name")] {
                let words = format!("CREATE INDEX {name} ON users (tenant_id, {column} COLLATE \"C\", id)");
                manager.execute_unprepared(&words).await?;
            }
            return Ok(());
        }
        create_index(manager, "users_folded_name", "users", &["tenant_id", "folded_name", "id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let drop = match manager.backend() {
            DbBackend::Postgres => "DROP INDEX users_id_prefix; DROP INDEX users_folded_name",
            DbBackend::MySql => "DROP INDEX users_folded_name ON users",
            _ => "DROP INDEX users_folded_name",
        };
        manager.execute_unprepared(drop).await?;
        manager.execute(Table::alter().table("users").drop_column("folded_name").take()).await
    }
}

async fn fold_names(manager: &SchemaManager<'_>) -> Result<(), DbErr> {
    let mut after = 0_i64;
    loop {
        let named = Query::select()
            .columns(["id", "name"])
            .from("users")
            .and_where(Expr::col("id").gt(after))
            .and_where(Expr::col("name").is_not_null())
            .order_by("id", Order::Asc)
            .limit(USERS)
            .take();
        let (mut folded, mut ids) = (CaseStatement::new(), Vec::new());
        for row in manager.query_rows(named).await? {
            let (id, name): (i64, String) = (row.try_get("", "id")?, row.try_get("", "name")?);
            let chars = name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            let chars: String = chars.take(CHARACTERS.into()).collect();
            folded = folded.case(Expr::col("id").eq(id), chars);
            ids.push(id);
        }
        let Some(last) = ids.last().copied() else { return Ok(()) };
        let update =
            Query::update().table("users").value("folded_name", folded).and_where(Expr::col("id").is_in(ids)).take();
        manager.execute(update).await?;
        after = last;
    }
}

//! Versions that validate cached overviews.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{Index, Table};

use crate::dialect::{create_index, number_from};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

const COLUMNS: [(&str, &str); 2] = [("users", "version"), ("tenant", "text_version")];

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for (table, column) in COLUMNS {
            manager.execute(Table::alter().table(table).add_column(number_from(column, 0)).take()).await?;
        }
        create_index(manager, "notification_tenant_expires_at", "notification", &["tenant_id", "expires_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let name = "notification_tenant_expires_at";
        manager.execute(Index::drop().name(name).table("notification").to_owned()).await?;
        for (table, column) in COLUMNS {
            manager.execute(Table::alter().table(table).drop_column(column).take()).await?;
        }
        Ok(())
    }
}

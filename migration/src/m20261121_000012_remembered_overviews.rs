//! By what an overview that was read before is known to hold still.

use sea_orm_migration::prelude::*;

use crate::dialect::{index, number_from};

#[derive(DeriveMigrationName)]
pub struct Migration;

const COLUMNS: [(&str, &str); 2] = [("users", "version"), ("tenant", "text_version")];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (table, column) in COLUMNS {
            manager.alter_table(Table::alter().table(table).add_column(number_from(column, 0)).take()).await?;
        }
        index(manager, "notification_tenant_expires_at", "notification", &["tenant_id", "expires_at"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let name = "notification_tenant_expires_at";
        manager.drop_index(Index::drop().name(name).table("notification").to_owned()).await?;
        for (table, column) in COLUMNS {
            manager.alter_table(Table::alter().table(table).drop_column(column).take()).await?;
        }
        Ok(())
    }
}

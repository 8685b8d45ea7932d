//! By what the sweep knows actions that nobody uses any more.

use sea_orm_migration::prelude::*;

use crate::dialect::number_from;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let mut column = number_from("used_at", 0);
        manager.alter_table(Table::alter().table("action").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.alter_table(Table::alter().table("action").drop_column("used_at").take()).await
    }
}

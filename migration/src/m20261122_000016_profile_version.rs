//! By what the profile that a sender is shown with is known to be the same, whatever happens in their inbox.

use sea_orm_migration::prelude::*;

use crate::dialect::number_from;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let mut column = number_from("profile_version", 0);
        manager.alter_table(Table::alter().table("users").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.alter_table(Table::alter().table("users").drop_column("profile_version").take()).await
    }
}

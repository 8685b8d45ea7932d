//! How user interfaces display a message type.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::{string_or_none, text_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for mut column in [string_or_none("icon", 256), text_or_none("ui")] {
            manager.execute(Table::alter().table("message_type").add_column(&mut column).take()).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for column in ["icon", "ui"] {
            manager.execute(Table::alter().table("message_type").drop_column(column).take()).await?;
        }
        Ok(())
    }
}

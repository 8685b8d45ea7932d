//! What letters say.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::text_or_none;
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for mut column in [text_or_none("letter_subject"), text_or_none("letter_text"), text_or_none("letter_html")] {
            manager.execute(Table::alter().table("delivery_rule").add_column(&mut column).take()).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for column in ["letter_subject", "letter_text", "letter_html"] {
            manager.execute(Table::alter().table("delivery_rule").drop_column(column).take()).await?;
        }
        Ok(())
    }
}

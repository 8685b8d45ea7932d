//! Deliveries by WeChat.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::{number_or_none, string_or_none, text_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for mut column in [string_or_none("token", 2048), number_or_none("token_until")] {
            manager.execute(Table::alter().table("lane").add_column(&mut column).take()).await?;
        }
        let columns =
            [string_or_none("wechat_template", 128), text_or_none("wechat_fields"), text_or_none("wechat_link")];
        for mut column in columns {
            manager.execute(Table::alter().table("delivery_rule").add_column(&mut column).take()).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for column in ["token", "token_until"] {
            manager.execute(Table::alter().table("lane").drop_column(column).take()).await?;
        }
        for column in ["wechat_template", "wechat_fields", "wechat_link"] {
            manager.execute(Table::alter().table("delivery_rule").drop_column(column).take()).await?;
        }
        Ok(())
    }
}

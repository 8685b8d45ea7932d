//! Message types that users may send.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::boolean;
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let mut column = boolean("users_may_send").default(false).take();
        manager.execute(Table::alter().table("message_type").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager.execute(Table::alter().table("message_type").drop_column("users_may_send").take()).await
    }
}

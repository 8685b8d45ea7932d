//! When a delivery was first attempted, for the date of its email.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::number_or_none;
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let mut column = number_or_none("first_tried_at");
        manager.execute(Table::alter().table("delivery").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager.execute(Table::alter().table("delivery").drop_column("first_tried_at").take()).await
    }
}

//! Web Push: the endpoints of users' browsers, and the keys that encrypt their messages.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{Index, Table};

use crate::dialect::{create_index, string_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for mut column in [string_or_none("endpoint", 2048), string_or_none("push_keys", 128)] {
            manager.execute(Table::alter().table("contact").add_column(&mut column).take()).await?;
        }
        create_index(manager, "contact_address", "contact", &["tenant_id", "kind", "address"]).await?;
        let mut column = string_or_none("public_key", 128);
        manager.execute(Table::alter().table("lane").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager.execute(Table::alter().table("lane").drop_column("public_key").take()).await?;
        manager.execute(Index::drop().name("contact_address").table("contact").to_owned()).await?;
        for column in ["endpoint", "push_keys"] {
            manager.execute(Table::alter().table("contact").drop_column(column).take()).await?;
        }
        Ok(())
    }
}

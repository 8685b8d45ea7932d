//! What the nodes over one database have in common: so far its name, by which they know each other on a shared Redis.

use sea_orm_migration::prelude::*;

use crate::dialect::{drop, string, table};

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .create_table(
                table(manager, "server").col(string("name", 64).primary_key().take()).col(string("value", 256)).take(),
            )
            .await?;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| DbErr::Custom(error.to_string()))?;
        let value = format!("{:016x}", u64::from_le_bytes(random));
        let row = Query::insert()
            .into_table("server")
            .columns(["name", "value"])
            .values_panic(["name".into(), value.into()])
            .take();
        manager.execute(row).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop(manager, &["server"]).await
    }
}

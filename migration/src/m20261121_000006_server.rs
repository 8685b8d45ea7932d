//! Values shared by all nodes of a database. So far only its name, by which the nodes recognize each other on a shared
//! Redis.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Query;

use crate::dialect::{drop_tables, new_table, string};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "server")
                    .col(string("name", 64).primary_key().take())
                    .col(string("value", 256))
                    .take(),
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

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["server"]).await
    }
}

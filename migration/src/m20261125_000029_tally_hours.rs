//! The hourly growth of notification counters.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{drop_tables, new_clustered_table, number, primary_key};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_clustered_table(manager, "tally_hour")
                    .col(number("tenant_id"))
                    .col(number("seq"))
                    .col(number("hour"))
                    .col(number("delivered"))
                    .col(number("was_read"))
                    .primary_key(&mut primary_key(&["tenant_id", "seq", "hour"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["tally_hour"]).await
    }
}

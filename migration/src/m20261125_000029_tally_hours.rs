//! The hourly growth of notification counters.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{clustered, drop, number, primary};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                clustered(manager, "tally_hour")
                    .col(number("tenant_id"))
                    .col(number("seq"))
                    .col(number("hour"))
                    .col(number("delivered"))
                    .col(number("was_read"))
                    .primary_key(&mut primary(&["tenant_id", "seq", "hour"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop(manager, &["tally_hour"]).await
    }
}

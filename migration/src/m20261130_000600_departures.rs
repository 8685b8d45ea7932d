//! Users who stopped listening to a channel, until its earlier publications have been counted.

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
                new_clustered_table(manager, "departure")
                    .col(number("channel_id"))
                    .col(number("user_id"))
                    .col(number("since_seq"))
                    .col(number("upto_seq"))
                    .col(number("tenant_id"))
                    .primary_key(&mut primary_key(&["channel_id", "user_id", "since_seq"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["departure"]).await
    }
}

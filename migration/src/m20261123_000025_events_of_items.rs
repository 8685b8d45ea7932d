//! An index to count the deliveries of a notification, and batches of read items for webhooks.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{ColumnDef, Index, Table};

use crate::dialect::{create_index, drop_tables, id, new_table, number, number_from};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        // A covering index, so that counting the deliveries of a large notification does not read the table.
        create_index(
            manager,
            "delivery_subject",
            "delivery",
            &["tenant_id", "subject_id", "event", "lane_id", "state"],
        )
        .await?;
        for column in ["reader_id", "happened_at"] {
            manager.execute(Table::alter().table("tally").add_column(number_from(column, 0)).take()).await?;
        }
        manager
            .execute(
                new_table(manager, "webhook_batch")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(ColumnDef::new("items").text().not_null())
                    .col(number("created_at"))
                    .take(),
            )
            .await?;
        create_index(manager, "webhook_batch_tenant", "webhook_batch", &["tenant_id", "id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["webhook_batch"]).await?;
        for column in ["happened_at", "reader_id"] {
            manager.execute(Table::alter().table("tally").drop_column(column).take()).await?;
        }
        manager.execute(Index::drop().name("delivery_subject").table("delivery").to_owned()).await
    }
}

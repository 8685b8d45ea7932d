//! Whether users may subscribe and follow without the backend: open target types, and a follow policy.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::{drop_tables, new_clustered_table, number, primary_key, small_number, string};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_clustered_table(manager, "target_type")
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(small_number("subscription_policy"))
                    .primary_key(&mut primary_key(&["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        let mut column = small_number("follow_policy").default(0).take();
        manager.execute(Table::alter().table("tenant").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager.execute(Table::alter().table("tenant").drop_column("follow_policy").take()).await?;
        drop_tables(manager, &["target_type"]).await
    }
}

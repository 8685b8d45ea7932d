//! Gaps in logs, where sequences were advanced after a failover or a restore. A cursor within a gap refers to lost
//! entries.

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
                new_clustered_table(manager, "gap")
                    .col(number("tenant_id"))
                    .col(number("after_seq"))
                    .col(number("upto_seq"))
                    .col(number("created_at"))
                    .primary_key(&mut primary_key(&["tenant_id", "upto_seq"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["gap"]).await
    }
}

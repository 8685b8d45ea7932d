//! Jobs (work that outlives the request that started it), and a counter of erased users.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{Expr, ExprTrait, Index, Query, Table};

use crate::dialect::{create_index, drop_tables, id, new_table, number, number_from, small_number, string_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

/// Turns channels that are already deleted into jobs: kind 1 of jobs, kind 9 of channels.
const DELETED: &str = "INSERT INTO job (tenant_id, kind, subject_id, created_at) \
                       SELECT c.tenant_id, 1, c.id, c.created_at FROM channel c WHERE c.kind = 9";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "job")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(small_number("kind"))
                    .col(number("subject_id"))
                    .col(string_or_none("name", 128))
                    .col(number_from("place", 0))
                    .col(number_from("due_at", 0))
                    .col(number("created_at"))
                    .take(),
            )
            .await?;
        create_index(manager, "job_name", "job", &["tenant_id", "kind", "name"]).await?;
        manager.execute_unprepared(DELETED).await?;
        let chore = Query::insert().into_table("chore").columns(["name"]).values_panic(["orphans".into()]).take();
        manager.execute(chore).await?;
        manager.execute(Table::alter().table("tenant").add_column(number_from("erased_count", 0)).take()).await?;
        // Jobs go through the listeners of a channel in the order of their ids.
        create_index(manager, "subscription_channel_user", "subscription", &["channel_id", "user_id"]).await?;
        manager.execute(Index::drop().name("subscription_channel").table("subscription").to_owned()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        create_index(manager, "subscription_channel", "subscription", &["channel_id"]).await?;
        manager.execute(Index::drop().name("subscription_channel_user").table("subscription").to_owned()).await?;
        manager.execute(Table::alter().table("tenant").drop_column("erased_count").take()).await?;
        let chore = Query::delete().from_table("chore").and_where(Expr::col("name").eq("orphans")).take();
        manager.execute(chore).await?;
        drop_tables(manager, &["job"]).await
    }
}

//! Channels and their listeners.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    create_index, drop_tables, id, new_clustered_table, new_table, number, primary_key, small_number, string,
    string_or_none, unique_key,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "channel")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(small_number("kind"))
                    .col(string("code", 400))
                    .col(string_or_none("title", 256))
                    .col(number("created_at"))
                    .index(&mut unique_key("channel_code", &["tenant_id", "kind", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "subscription")
                    .col(number("user_id"))
                    .col(number("channel_id"))
                    .col(number("since_seq"))
                    .col(number("created_at"))
                    .primary_key(&mut primary_key(&["user_id", "channel_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "subscription_channel", "subscription", &["channel_id"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "group_subscription")
                    .col(number("group_channel_id"))
                    .col(number("target_channel_id"))
                    .col(number("created_at"))
                    .primary_key(&mut primary_key(&["group_channel_id", "target_channel_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "group_subscription_target", "group_subscription", &["target_channel_id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["group_subscription", "subscription", "channel"]).await
    }
}

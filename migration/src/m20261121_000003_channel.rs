//! Channels and their listeners.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{clustered, drop, id, index, number, primary, small, string, string_or_none, table, unique};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                table(manager, "channel")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(small("kind"))
                    .col(string("code", 400))
                    .col(string_or_none("title", 256))
                    .col(number("created_at"))
                    .index(&mut unique("channel_code", &["tenant_id", "kind", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                clustered(manager, "subscription")
                    .col(number("user_id"))
                    .col(number("channel_id"))
                    .col(number("since_seq"))
                    .col(number("created_at"))
                    .primary_key(&mut primary(&["user_id", "channel_id"]))
                    .take(),
            )
            .await?;
        index(manager, "subscription_channel", "subscription", &["channel_id"]).await?;
        manager
            .execute(
                clustered(manager, "group_subscription")
                    .col(number("group_channel_id"))
                    .col(number("target_channel_id"))
                    .col(number("created_at"))
                    .primary_key(&mut primary(&["group_channel_id", "target_channel_id"]))
                    .take(),
            )
            .await?;
        index(manager, "group_subscription_target", "group_subscription", &["target_channel_id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop(manager, &["group_subscription", "subscription", "channel"]).await
    }
}

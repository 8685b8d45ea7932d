//! Notifications, and the log they are published to.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::ColumnDef;

use crate::dialect::{
    create_index, drop_tables, new_clustered_table, new_table, number, number_or_none, primary_key, small_number,
    string_or_none, text_or_none, unique_key,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "notification")
                    .col(number("tenant_id"))
                    .col(number("id"))
                    .col(number_or_none("seq"))
                    .col(small_number("kind"))
                    .col(number("type_id"))
                    .col(string_or_none("title", 256))
                    .col(text_or_none("body"))
                    .col(string_or_none("link", 2048))
                    .col(text_or_none("params"))
                    .col(text_or_none("data"))
                    .col(number_or_none("sender_id"))
                    .col(number_or_none("receiver_id"))
                    .col(string_or_none("target_type", 128))
                    .col(string_or_none("target_id", 128))
                    .col(number_or_none("action_id"))
                    .col(ColumnDef::new("audience").text().not_null())
                    .col(number("created_at"))
                    .col(number_or_none("published_at"))
                    .col(number_or_none("expires_at"))
                    .col(string_or_none("idempotency_key", 128))
                    .col(number("fingerprint"))
                    .primary_key(&mut primary_key(&["tenant_id", "id"]))
                    .index(&mut unique_key("notification_seq", &["tenant_id", "seq"]))
                    .index(&mut unique_key("notification_idempotency_key", &["tenant_id", "idempotency_key"]))
                    .take(),
            )
            .await?;
        create_index(manager, "notification_published_at", "notification", &["tenant_id", "published_at", "seq"])
            .await?;
        create_index(manager, "notification_type", "notification", &["tenant_id", "type_id"]).await?;
        create_index(manager, "notification_target", "notification", &["tenant_id", "target_type", "target_id", "seq"])
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "publication")
                    .col(number("channel_id"))
                    .col(number("seq"))
                    .col(number("tenant_id"))
                    .col(number("type_id"))
                    .col(number_or_none("action_id"))
                    .col(number_or_none("actor_id"))
                    .col(number_or_none("expires_at"))
                    .primary_key(&mut primary_key(&["channel_id", "seq"]))
                    .take(),
            )
            .await?;
        create_index(manager, "publication_seq", "publication", &["tenant_id", "seq", "channel_id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["publication", "notification"]).await
    }
}

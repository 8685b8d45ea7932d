//! Views (chats, feeds and news pages, marked as read by a visit) and their members.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    boolean, create_index, drop_tables, id, new_clustered_table, new_table, number, number_from, number_or_none,
    primary_key, string,
};
use crate::dialect::{text_or_none, unique_key};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "view")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(string("external_id", 128))
                    .col(number_from("position", 0))
                    .col(number_or_none("last_activity_at"))
                    .col(text_or_none("latest"))
                    .col(number("touched_at"))
                    .index(&mut unique_key("view_external_id", &["tenant_id", "code", "external_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "view_touched_at", "view", &["touched_at"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "view_visit")
                    .col(number("user_id"))
                    .col(number("view_id"))
                    .col(number("position"))
                    .col(number_or_none("visited_at"))
                    .col(number("joined_at"))
                    .primary_key(&mut primary_key(&["user_id", "view_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "view_visit_view", "view_visit", &["view_id", "user_id"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "view_code")
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(boolean("is_open"))
                    .primary_key(&mut primary_key(&["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "activity_key")
                    .col(number("view_id"))
                    .col(string("idempotency_key", 128))
                    .col(number("fingerprint"))
                    .col(number("created_at"))
                    .primary_key(&mut primary_key(&["view_id", "idempotency_key"]))
                    .take(),
            )
            .await?;
        create_index(manager, "activity_key_created_at", "activity_key", &["created_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["activity_key", "view_code", "view_visit", "view"]).await
    }
}

//! Views (chats, feeds and news pages, marked as read by a visit) and their members.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{clustered, drop, flag, id, index, number, number_from, number_or_none, primary, string, table};
use crate::dialect::{text_or_none, unique};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                table(manager, "view")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(string("external_id", 128))
                    .col(number_from("position", 0))
                    .col(number_or_none("last_activity_at"))
                    .col(text_or_none("latest"))
                    .col(number("touched_at"))
                    .index(&mut unique("view_external_id", &["tenant_id", "code", "external_id"]))
                    .take(),
            )
            .await?;
        index(manager, "view_touched_at", "view", &["touched_at"]).await?;
        manager
            .execute(
                clustered(manager, "view_visit")
                    .col(number("user_id"))
                    .col(number("view_id"))
                    .col(number("position"))
                    .col(number_or_none("visited_at"))
                    .col(number("joined_at"))
                    .primary_key(&mut primary(&["user_id", "view_id"]))
                    .take(),
            )
            .await?;
        index(manager, "view_visit_view", "view_visit", &["view_id", "user_id"]).await?;
        manager
            .execute(
                clustered(manager, "view_code")
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(flag("is_open"))
                    .primary_key(&mut primary(&["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                clustered(manager, "activity_key")
                    .col(number("view_id"))
                    .col(string("idempotency_key", 128))
                    .col(number("fingerprint"))
                    .col(number("created_at"))
                    .primary_key(&mut primary(&["view_id", "idempotency_key"]))
                    .take(),
            )
            .await?;
        index(manager, "activity_key_created_at", "activity_key", &["created_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop(manager, &["activity_key", "view_code", "view_visit", "view"]).await
    }
}

//! Tenants, each with the head of its log, and their users.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::ColumnDef;

use crate::dialect::{drop_tables, id, new_table, number, number_from, string, string_or_none, unique_key};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "tenant")
                    .col(id())
                    .col(string("code", 128))
                    .col(ColumnDef::new("id_key").var_binary(16).not_null())
                    .col(number_from("last_seq", 0))
                    .col(number_from("last_notification_id", 0))
                    .col(number_from("published_at", 0))
                    .col(number_from("catalogue_version", 0))
                    .col(number("created_at"))
                    .index(&mut unique_key("tenant_code", &["code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_table(manager, "users")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("external_id", 128))
                    .col(string_or_none("name", 256))
                    .col(string_or_none("avatar_url", 2048))
                    .col(string_or_none("locale", 64))
                    .col(number("cursor_seq"))
                    .col(number_from("seen_seq", 0))
                    .col(number_from("subscription_count", 0))
                    .col(number("created_at"))
                    .index(&mut unique_key("users_external_id", &["tenant_id", "external_id"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["users", "tenant"]).await
    }
}

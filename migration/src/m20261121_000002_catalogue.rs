//! The catalogue of a tenant, and its users' preferences: message types, reasons, actions, preferences.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::ColumnDef;

use crate::dialect::{
    boolean, drop_tables, id, new_clustered_table, new_table, number, number_or_none, primary_key, small_number,
    string, string_or_none, text_or_none, unique_key,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "message_type")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(string("title", 256))
                    .col(string_or_none("group_label", 128))
                    .col(small_number("read_policy"))
                    .col(boolean("mandatory"))
                    .col(number_or_none("ttl_seconds"))
                    .col(ColumnDef::new("position").integer().not_null())
                    .col(text_or_none("template_title"))
                    .col(text_or_none("template_body"))
                    .col(text_or_none("template_link"))
                    .index(&mut unique_key("message_type_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_table(manager, "reason")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(ColumnDef::new("actions").text().not_null())
                    .index(&mut unique_key("reason_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_table(manager, "action")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .index(&mut unique_key("action_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        for (name, owner) in [("default_preference", "tenant_id"), ("preference", "user_id")] {
            manager
                .execute(
                    new_clustered_table(manager, name)
                        .col(number(owner))
                        .col(small_number("scope"))
                        .col(number("subject_id"))
                        .col(boolean("enabled"))
                        .primary_key(&mut primary_key(&[owner, "scope", "subject_id"]))
                        .take(),
                )
                .await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["preference", "default_preference", "action", "reason", "message_type"]).await
    }
}

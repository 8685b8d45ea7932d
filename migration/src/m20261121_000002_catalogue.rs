//! The catalogue of a tenant, and its users' preferences: message types, reasons, actions, preferences.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::ColumnDef;

use crate::dialect::{
    clustered, drop, flag, id, number, number_or_none, primary, small, string, string_or_none, table, text_or_none,
    unique,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                table(manager, "message_type")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(string("title", 256))
                    .col(string_or_none("group_label", 128))
                    .col(small("read_policy"))
                    .col(flag("mandatory"))
                    .col(number_or_none("ttl_seconds"))
                    .col(ColumnDef::new("position").integer().not_null())
                    .col(text_or_none("template_title"))
                    .col(text_or_none("template_body"))
                    .col(text_or_none("template_link"))
                    .index(&mut unique("message_type_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                table(manager, "reason")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(ColumnDef::new("actions").text().not_null())
                    .index(&mut unique("reason_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                table(manager, "action")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .index(&mut unique("action_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        for (name, owner) in [("default_preference", "tenant_id"), ("preference", "user_id")] {
            manager
                .execute(
                    clustered(manager, name)
                        .col(number(owner))
                        .col(small("scope"))
                        .col(number("subject_id"))
                        .col(flag("enabled"))
                        .primary_key(&mut primary(&[owner, "scope", "subject_id"]))
                        .take(),
                )
                .await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop(manager, &["preference", "default_preference", "action", "reason", "message_type"]).await
    }
}

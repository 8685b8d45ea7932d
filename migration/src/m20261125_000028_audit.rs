//! The audit log of actions by services and operators that concern others, and the sender of each notification.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::{create_index, drop_tables, id, new_table, number, small_number, string, string_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "audit_entry")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(number("at"))
                    .col(string("actor", 130))
                    .col(string("action", 64))
                    .col(small_number("subject_kind"))
                    .col(string_or_none("subject", 300))
                    .col(number("subject_count"))
                    .take(),
            )
            .await?;
        create_index(manager, "audit_entry_tenant", "audit_entry", &["tenant_id", "id"]).await?;
        create_index(manager, "audit_entry_subject", "audit_entry", &["tenant_id", "subject_kind", "subject", "id"])
            .await?;
        let mut column = string_or_none("sent_by", 130);
        manager.execute(Table::alter().table("notification").add_column(&mut column).take()).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager.execute(Table::alter().table("notification").drop_column("sent_by").take()).await?;
        drop_tables(manager, &["audit_entry"]).await
    }
}

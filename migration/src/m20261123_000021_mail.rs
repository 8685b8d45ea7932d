//! Deliveries to users' email addresses.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    create_index, drop_tables, id, new_clustered_table, new_table, number, number_from, number_or_none, primary_key,
    small_number, string, unique_key,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "contact")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(number("user_id"))
                    .col(small_number("kind"))
                    .col(string("address", 320))
                    .col(number_from("failures", 0))
                    .col(number_or_none("bad_since"))
                    .col(number("created_at"))
                    .index(&mut unique_key("contact_user", &["user_id", "kind", "address"]))
                    .take(),
            )
            .await?;
        create_index(manager, "contact_tenant", "contact", &["tenant_id", "kind", "user_id"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "delivery_rule")
                    .col(number("type_id"))
                    .col(small_number("kind"))
                    .col(number("tenant_id"))
                    .col(small_number("sends"))
                    .col(number("delay_seconds"))
                    .primary_key(&mut primary_key(&["type_id", "kind"]))
                    .take(),
            )
            .await?;
        create_index(manager, "delivery_rule_tenant", "delivery_rule", &["tenant_id"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "dispatch")
                    .col(number("lane_id"))
                    .col(number("seq"))
                    .col(number("tenant_id"))
                    .col(number("notification_id"))
                    .col(number("due_at"))
                    .col(number_from("after_user", 0))
                    .primary_key(&mut primary_key(&["lane_id", "seq"]))
                    .take(),
            )
            .await?;
        create_index(manager, "dispatch_due_at", "dispatch", &["lane_id", "due_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["dispatch", "delivery_rule", "contact"]).await
    }
}

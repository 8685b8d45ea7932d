//! Deliveries to users' email addresses.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    clustered, drop, id, index, number, number_from, number_or_none, primary, small, string, table, unique,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                table(manager, "contact")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(number("user_id"))
                    .col(small("kind"))
                    .col(string("address", 320))
                    .col(number_from("failures", 0))
                    .col(number_or_none("bad_since"))
                    .col(number("created_at"))
                    .index(&mut unique("contact_user", &["user_id", "kind", "address"]))
                    .take(),
            )
            .await?;
        index(manager, "contact_tenant", "contact", &["tenant_id", "kind", "user_id"]).await?;
        manager
            .execute(
                clustered(manager, "delivery_rule")
                    .col(number("type_id"))
                    .col(small("kind"))
                    .col(number("tenant_id"))
                    .col(small("sends"))
                    .col(number("delay_seconds"))
                    .primary_key(&mut primary(&["type_id", "kind"]))
                    .take(),
            )
            .await?;
        index(manager, "delivery_rule_tenant", "delivery_rule", &["tenant_id"]).await?;
        manager
            .execute(
                clustered(manager, "dispatch")
                    .col(number("lane_id"))
                    .col(number("seq"))
                    .col(number("tenant_id"))
                    .col(number("notification_id"))
                    .col(number("due_at"))
                    .col(number_from("after_user", 0))
                    .primary_key(&mut primary(&["lane_id", "seq"]))
                    .take(),
            )
            .await?;
        index(manager, "dispatch_due_at", "dispatch", &["lane_id", "due_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop(manager, &["dispatch", "delivery_rule", "contact"]).await
    }
}

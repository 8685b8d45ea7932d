//! Destinations and their deliveries.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    boolean, create_index, drop_tables, id, number, number_from, number_or_none, small_number, string, string_or_none,
};
use crate::dialect::{new_table, text_or_none, unique_key};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "lane")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(small_number("kind"))
                    .col(string("url", 2048))
                    .col(number("events"))
                    .col(boolean("is_full"))
                    .col(string_or_none("sender", 512))
                    .col(string_or_none("reply_to", 512))
                    .col(string_or_none("link_base", 2048))
                    .col(string("secret", 4096))
                    .col(string_or_none("previous_secret", 4096))
                    .col(number_or_none("previous_until"))
                    .col(string_or_none("alarm_type", 128))
                    .col(string_or_none("alarm_group", 128))
                    .col(small_number("state"))
                    .col(number("cursor_seq"))
                    .col(number_or_none("due_at"))
                    .col(number_from("lease_until", 0))
                    .col(number_from("lease_no", 0))
                    .col(number_from("failures", 0))
                    .col(number_from("open_until", 0))
                    .col(number_or_none("failing_since"))
                    .col(number_or_none("attempted_at"))
                    .col(number_or_none("last_status"))
                    .col(text_or_none("last_error"))
                    .col(number_from("pings_since", 0))
                    .col(number_from("pings", 0))
                    .col(number("created_at"))
                    .col(number("updated_at"))
                    .take(),
            )
            .await?;
        create_index(manager, "lane_tenant", "lane", &["tenant_id"]).await?;
        manager
            .execute(
                new_table(manager, "delivery")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(number("lane_id"))
                    .col(number_from("contact_id", 0))
                    .col(small_number("event"))
                    .col(number_or_none("subject_id"))
                    .col(number_or_none("seq"))
                    .col(number("happened_at"))
                    .col(small_number("state"))
                    .col(number("due_at"))
                    .col(number_from("attempts", 0))
                    .col(number_or_none("status"))
                    .col(text_or_none("error"))
                    .col(number("created_at"))
                    .col(number_or_none("done_at"))
                    .index(&mut unique_key("delivery_seq", &["lane_id", "event", "seq", "contact_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "delivery_due_at", "delivery", &["lane_id", "state", "due_at"]).await?;
        create_index(manager, "delivery_tenant", "delivery", &["tenant_id", "id"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["delivery", "lane"]).await
    }
}

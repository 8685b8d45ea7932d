//! Each user's inbox items and read marks.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{
    create_index, drop_tables, new_clustered_table, number, number_or_none, primary_key, small_number,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_clustered_table(manager, "inbox_item")
                    .col(number("user_id"))
                    .col(number("seq"))
                    .col(number("type_id"))
                    .col(small_number("state"))
                    .col(number_or_none("read_at"))
                    .col(number_or_none("archived_at"))
                    .col(number_or_none("expires_at"))
                    .primary_key(&mut primary_key(&["user_id", "seq"]))
                    .take(),
            )
            .await?;
        create_index(manager, "inbox_item_state", "inbox_item", &["user_id", "type_id", "state", "seq", "expires_at"])
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "read_mark")
                    .col(number("user_id"))
                    .col(number("type_id"))
                    .col(number("read_upto"))
                    .col(number("read_at"))
                    .primary_key(&mut primary_key(&["user_id", "type_id", "read_upto"]))
                    .take(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["read_mark", "inbox_item"]).await
    }
}

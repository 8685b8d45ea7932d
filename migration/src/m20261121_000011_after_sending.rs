//! The life of a notification after it was sent: schedules, amendments, counters, and the server's background tasks.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{ColumnDef, Index, Query, Table};

use crate::dialect::{
    boolean, create_index, drop_tables, id, new_clustered_table, new_table, number, number_from, number_or_none,
    primary_key, string,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

/// Columns added to existing tables.
fn columns() -> Vec<(&'static str, &'static str, ColumnDef)> {
    let new = |table, name, column: fn(&'static str) -> ColumnDef| (table, name, column(name));
    let from_zero = |name| number_from(name, 0);
    vec![
        new("notification", "publish_at", number_or_none),
        new("notification", "updated_at", number_or_none),
        new("notification", "retracted_at", number_or_none),
        new("notification", "audience_size", number_or_none),
        new("notification", "delivered_count", from_zero),
        new("notification", "read_count", from_zero),
        new("tenant", "amended_seq", from_zero),
        new("tenant", "counted_seq", from_zero),
        new("tenant", "swept_seq", from_zero),
    ]
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for (table, _, mut column) in columns() {
            manager.execute(Table::alter().table(table).add_column(&mut column).take()).await?;
        }
        create_index(manager, "notification_expires_at", "notification", &["expires_at"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "schedule")
                    .col(number("tenant_id"))
                    .col(number("notification_id"))
                    .col(number("publish_at"))
                    .primary_key(&mut primary_key(&["tenant_id", "notification_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "schedule_publish_at", "schedule", &["publish_at"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "recipient")
                    .col(number("tenant_id"))
                    .col(number("notification_id"))
                    .col(number("user_id"))
                    .primary_key(&mut primary_key(&["tenant_id", "notification_id", "user_id"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "amendment")
                    .col(number("tenant_id"))
                    .col(number("seq"))
                    .col(number("subject_seq"))
                    .primary_key(&mut primary_key(&["tenant_id", "seq"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "tally_span")
                    .col(number("user_id"))
                    .col(boolean("is_read"))
                    .col(number("type_id"))
                    .col(number("after_seq"))
                    .col(number("upto_seq"))
                    .col(number("created_at"))
                    .primary_key(&mut primary_key(&["user_id", "is_read", "type_id", "after_seq"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_table(manager, "tally")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(number("seq"))
                    .col(number("delivered"))
                    .col(number("was_read"))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_table(manager, "chore")
                    .col(string("name", 64).primary_key().take())
                    .col(number_from("due_at", 0))
                    .take(),
            )
            .await?;
        let mut chores = Query::insert().into_table("chore").columns(["name"]).take();
        for name in ["count", "sweep"] {
            chores.values_panic([name.into()]);
        }
        manager.execute(chores).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["chore", "tally", "tally_span", "amendment", "recipient", "schedule"]).await?;
        manager.execute(Index::drop().name("notification_expires_at").table("notification").to_owned()).await?;
        for (table, name, _) in columns().into_iter().rev() {
            manager.execute(Table::alter().table(table).drop_column(name).take()).await?;
        }
        Ok(())
    }
}

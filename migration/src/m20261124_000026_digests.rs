//! Digests: unread items in one email at a time that the user chooses.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{ColumnDef, Table};

use crate::dialect::{
    boolean, create_index, drop_tables, new_clustered_table, number, number_from, number_or_none, primary_key,
};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

fn columns() -> [(&'static str, &'static str, ColumnDef); 3] {
    [
        ("delivery_rule", "digest", boolean("digest").default(false).take()),
        ("users", "digest_at", number_or_none("digest_at")),
        ("users", "digest_weekday", number_or_none("digest_weekday")),
    ]
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for (table, _, mut column) in columns() {
            manager.execute(Table::alter().table(table).add_column(&mut column).take()).await?;
        }
        manager
            .execute(
                new_clustered_table(manager, "digest")
                    .col(number("user_id"))
                    .col(number("lane_id"))
                    .col(number("tenant_id"))
                    .col(number_or_none("next_at"))
                    .col(number_from("upto_seq", 0))
                    .primary_key(&mut primary_key(&["user_id", "lane_id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "digest_next_at", "digest", &["lane_id", "next_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["digest"]).await?;
        for (table, column, _) in columns() {
            manager.execute(Table::alter().table(table).drop_column(column).take()).await?;
        }
        Ok(())
    }
}

//! Rules, the rows they have found, the results of their runs, and the rule that raised a notification.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::Table;

use crate::dialect::{
    boolean, create_index, drop_tables, id, new_clustered_table, number, number_from, number_or_none, primary_key,
    small_number, string,
};
use crate::dialect::{new_table, string_or_none, text_or_none, unique_key};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_table(manager, "rule")
                    .col(id())
                    .col(number("tenant_id"))
                    .col(string("code", 128))
                    .col(text_or_none("definition"))
                    .col(string_or_none("source", 128))
                    .col(small_number("state"))
                    .col(number_or_none("due_at"))
                    .col(number_from("run_no", 0))
                    .col(number_from("lease_until", 0))
                    .col(number_or_none("complete_at"))
                    .col(number_from("complete_no", 0))
                    .col(boolean("is_baseline_due"))
                    .col(number_from("failures", 0))
                    .col(string_or_none("report", 128))
                    .col(number_from("report_no", 0))
                    .col(number_from("report_chunk", 0))
                    .col(number("created_at"))
                    .col(number("updated_at"))
                    .index(&mut unique_key("rule_code", &["tenant_id", "code"]))
                    .take(),
            )
            .await?;
        create_index(manager, "rule_due_at", "rule", &["due_at"]).await?;
        manager
            .execute(
                new_clustered_table(manager, "rule_row")
                    .col(number("rule_id"))
                    .col(string("key_hash", 22))
                    .col(number("content_hash"))
                    .col(number_or_none("notification_id"))
                    .col(number("raised_at"))
                    .col(number_or_none("missing_from"))
                    .col(number_from("report_no", 0))
                    .primary_key(&mut primary_key(&["rule_id", "key_hash"]))
                    .take(),
            )
            .await?;
        manager
            .execute(
                new_clustered_table(manager, "rule_run")
                    .col(number("rule_id"))
                    .col(number("run_no"))
                    .col(number("started_at"))
                    .col(number("millis"))
                    .col(number("rows_found"))
                    .col(number("raised"))
                    .col(number("amended"))
                    .col(number("resolved"))
                    .col(small_number("outcome"))
                    .col(text_or_none("error"))
                    .col(string_or_none("report", 128))
                    .primary_key(&mut primary_key(&["rule_id", "run_no"]))
                    .take(),
            )
            .await?;
        for mut column in [string_or_none("rule", 128), text_or_none("row_key")] {
            manager.execute(Table::alter().table("notification").add_column(&mut column).take()).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for column in ["rule", "row_key"] {
            manager.execute(Table::alter().table("notification").drop_column(column).take()).await?;
        }
        drop_tables(manager, &["rule_run", "rule_row", "rule"]).await
    }
}

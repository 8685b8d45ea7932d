//! Templates for emails, and quiet hours.

use async_trait::async_trait;
use sea_orm::DbErr;
use sea_orm::sea_query::{ColumnDef, Table};

use crate::dialect::{number_or_none, string_or_none, text_or_none};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

fn columns() -> [(&'static str, &'static str, ColumnDef); 6] {
    [
        ("delivery_rule", "letter_subject", text_or_none("letter_subject")),
        ("delivery_rule", "letter_text", text_or_none("letter_text")),
        ("delivery_rule", "letter_html", text_or_none("letter_html")),
        ("users", "time_zone", string_or_none("time_zone", 64)),
        ("users", "quiet_from", number_or_none("quiet_from")),
        ("users", "quiet_to", number_or_none("quiet_to")),
    ]
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for (table, _, mut column) in columns() {
            manager.execute(Table::alter().table(table).add_column(&mut column).take()).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        for (table, column, _) in columns() {
            manager.execute(Table::alter().table(table).drop_column(column).take()).await?;
        }
        Ok(())
    }
}

//! Sessions of the desk that users have ended before they expired.

use async_trait::async_trait;
use sea_orm::DbErr;

use crate::dialect::{create_index, drop_tables, new_clustered_table, number, primary_key, string};
use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        manager
            .execute(
                new_clustered_table(manager, "ended_session")
                    .col(string("id", 64))
                    .col(number("expires_at"))
                    .primary_key(&mut primary_key(&["id"]))
                    .take(),
            )
            .await?;
        create_index(manager, "ended_session_expires_at", "ended_session", &["expires_at"]).await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        drop_tables(manager, &["ended_session"]).await
    }
}

//! An index of items kept unread below a read mark. Few users have any, so the others need not be queried type by type.
//!
//! MySQL has no partial indexes.

use async_trait::async_trait;
use sea_orm::{DbBackend, DbErr};

use crate::migrator::{MigrationTrait, SchemaManager};

pub struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        if manager.backend() == DbBackend::MySql {
            return Ok(());
        }
        manager.execute_unprepared("CREATE INDEX inbox_item_kept ON inbox_item (user_id) WHERE state = 3").await
    }

    async fn down(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        if manager.backend() == DbBackend::MySql {
            return Ok(());
        }
        manager.execute_unprepared("DROP INDEX inbox_item_kept").await
    }
}

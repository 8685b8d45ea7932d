//! Who has marked something unread that is below a read mark: hardly anybody, so that whoever has not need not be asked for it type by type.
//!
//! MySQL has no index over a part of a table.

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

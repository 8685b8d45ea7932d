//! The epoch of the invalidation tokens, on which all nodes of a database agree.

use entity::prelude::*;
use entity::server::{self, Column};

use super::Database;
use super::handles::{ReadPool, StatementObservers};
use base::error::Result;

/// The name of its row.
const NAME: &str = "board";

impl Database {
    /// The stored epoch. `None` if no node has ever used Redis.
    pub async fn read_epoch(&self) -> Result<Option<String>> {
        Ok(server::Entity::find_by_id(NAME).one(&self.unobserved_reader()).await?.map(|row| row.value))
    }

    /// Stores the epoch.
    pub async fn write_epoch(&self, value: &str) -> Result<()> {
        let columns = [Column::Name, Column::Value];
        let merged = ExistingRows::Merged { key: &columns[..1], raised: &[], replaced: &columns[1..] };
        insert(&self.unobserved_reader(), columns, vec![[NAME.into(), value.into()]], merged).await?;
        Ok(())
    }

    /// A reader on the maintenance connection that no observer sees.
    fn unobserved_reader(&self) -> ReadPool {
        ReadPool { observers: StatementObservers::default(), ..self.maintenance_reader() }
    }
}

//! The invalidation epoch of the Redis cache, on which all nodes of a database agree.

use entity::prelude::*;
use entity::server::{self, Column};

use super::Database;
use super::handle::{Observers, Reader};
use crate::error::Result;

/// The name of its row.
const NAME: &str = "board";

impl Database {
    /// The stored epoch. `None` if no node has ever used Redis.
    pub async fn board(&self) -> Result<Option<String>> {
        Ok(server::Entity::find_by_id(NAME).one(&self.unobserved()).await?.map(|row| row.value))
    }

    /// Stores the epoch.
    pub async fn write_board(&self, value: &str) -> Result<()> {
        let columns = [Column::Name, Column::Value];
        let merged = Existing::Merged { key: &columns[..1], raised: &[], replaced: &columns[1..] };
        insert(&self.unobserved(), columns, vec![[NAME.into(), value.into()]], merged).await?;
        Ok(())
    }

    /// A reader on the maintenance connection that no observer sees.
    fn unobserved(&self) -> Reader {
        Reader { observers: Observers::default(), ..self.aside() }
    }
}

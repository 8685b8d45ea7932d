//! The epoch of the board, as the nodes over a database agree on it.

use entity::prelude::*;
use entity::server::{self, Column};

use super::Database;
use super::handle::{Observers, Reader};
use crate::error::Result;

/// Its row.
const NAME: &str = "board";

impl Database {
    /// What stands there; nothing where no node ever had a board.
    pub async fn board(&self) -> Result<Option<String>> {
        Ok(server::Entity::find_by_id(NAME).one(&self.unobserved()).await?.map(|row| row.value))
    }

    /// Lets something else stand there.
    pub async fn write_board(&self, value: &str) -> Result<()> {
        let columns = [Column::Name, Column::Value];
        let merged = Existing::Merged { key: &columns[..1], raised: &[], replaced: &columns[1..] };
        insert(&self.unobserved(), columns, vec![[NAME.into(), value.into()]], merged).await?;
        Ok(())
    }

    /// The connection for looking after the database, of which nobody is told.
    fn unobserved(&self) -> Reader {
        Reader { observers: Observers::default(), ..self.aside() }
    }
}

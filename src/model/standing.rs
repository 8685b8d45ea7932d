//! Where inboxes stand.

use entity::ids::{Seq, UserId};
use entity::prelude::FromQueryResult;

/// Where an inbox stood in the moment of a statement: as `inbox::standing` asks for it.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct Standing {
    #[sea_orm(from_alias = "h_user_id")]
    pub user: UserId,
    /// 1 or 0.
    #[sea_orm(from_alias = "h_behind")]
    behind: i32,
    #[sea_orm(from_alias = "h_cursor_seq")]
    cursor: Seq,
    /// Where the statement read to.
    #[sea_orm(from_alias = "h_last_seq")]
    end: Seq,
    /// Of the catalogue that the rest of the statement saw.
    #[sea_orm(from_alias = "h_version")]
    pub catalogue_version: i64,
}

impl Standing {
    /// Whether something was published for the user that their inbox has not got.
    pub fn is_behind(&self) -> bool {
        self.behind == 1
    }

    /// The inbox is complete up to here: to the end of the log, unless it is behind or cut.
    pub fn complete_upto(&self) -> Seq {
        if self.is_behind() { self.cursor } else { self.end }
    }
}

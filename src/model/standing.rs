//! Where inboxes stand.

use entity::columns;
use entity::ids::{Seq, UserId};

columns! {
    /// Where an inbox stood in the moment of a statement: as `inbox::standing` asks for it.
    #[derive(Clone, Copy, Debug)]
    pub struct Standing {
        pub user: UserId = "h_user_id",
        /// 1 or 0.
        behind: i32 = "h_behind",
        /// What was published on their channels is in their inbox up to here, and amended up to here.
        pub cursor: Seq = "h_cursor_seq",
        /// Where the statement read to.
        end: Seq = "h_last_seq",
        /// Of the catalogue that the rest of the statement saw.
        pub catalogue_version: i64 = "h_version",
    }
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

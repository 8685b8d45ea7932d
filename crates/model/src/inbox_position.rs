//! Inbox positions.

use entity::columns;
use entity::ids::{Seq, UserId};

columns! {
    /// The position of an inbox at the time of a statement, as read by `inbox::standing`.
    #[derive(Clone, Copy, Debug)]
    pub struct InboxPosition {
        pub user: UserId = "h_user_id",
        /// 1 or 0.
        behind: i32 = "h_behind",
        /// Log position up to which the inbox includes publications and amendments of its channels.
        pub cursor: Seq = "h_cursor_seq",
        /// End of the log that the statement read.
        end: Seq = "h_last_seq",
        /// Version of the catalogue that the statement saw.
        pub catalogue_version: i64 = "h_version",
    }
}

impl InboxPosition {
    /// Whether the inbox lacks something that was published for the user.
    pub fn is_behind(&self) -> bool {
        self.behind == 1
    }

    /// Log position up to which the inbox is complete: the end of the log, unless it is behind.
    pub fn complete_upto(&self) -> Seq {
        if self.is_behind() { self.cursor } else { self.end }
    }
}

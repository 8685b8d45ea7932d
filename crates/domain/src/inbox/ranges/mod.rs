//! The index ranges that make up inbox, archive, read and unread. Overview, list and marks all select items through
//! them, so a count always equals the length of the list.
//!
//! An inbox is an index over (user, type, state, seq, expiry). Each query is a few ranges of that index, one
//! [`StateRange`] for each matching state.

mod queries;

pub use entity::inbox_item::ItemState;

pub use queries::{SqlOperand, push_range, push_side};

/// Which items of a state, relative to the newest read mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkPart {
    All,
    AboveMark,
    UpToMark,
}

/// One range of the index, within a user and a type.
pub type StateRange = (ItemState, MarkPart);

/// The side of the inbox that a query reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InboxSide {
    /// Items that are not archived.
    #[default]
    Inbox,
    Archive,
    Both,
}

/// The ranges of a side: all of its items, or only the read or unread ones.
pub fn ranges_of_side(side: InboxSide, read: Option<bool>) -> &'static [StateRange] {
    use ItemState::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    use MarkPart::{AboveMark, All, UpToMark};
    match (side, read) {
        (InboxSide::Inbox, None) => &[(Fresh, All), (Read, All), (KeptUnread, All)],
        (InboxSide::Inbox, Some(true)) => &[(Fresh, UpToMark), (Read, All)],
        (InboxSide::Inbox, Some(false)) => &[(Fresh, AboveMark), (KeptUnread, All)],
        (InboxSide::Archive, None) => &[(ArchivedRead, All), (ArchivedUnread, All)],
        (InboxSide::Archive, Some(true)) => &[(ArchivedRead, All)],
        (InboxSide::Archive, Some(false)) => &[(ArchivedUnread, All)],
        (InboxSide::Both, None) => {
            &[(Fresh, All), (Read, All), (KeptUnread, All), (ArchivedRead, All), (ArchivedUnread, All)]
        }
        (InboxSide::Both, Some(true)) => &[(Fresh, UpToMark), (Read, All), (ArchivedRead, All)],
        (InboxSide::Both, Some(false)) => &[(Fresh, AboveMark), (KeptUnread, All), (ArchivedUnread, All)],
    }
}

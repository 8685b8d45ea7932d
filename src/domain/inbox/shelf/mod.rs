//! The index ranges that make up inbox, archive, read and unread. Overview, list and marks all select items through
//! them, so a count always equals the length of the list.
//!
//! An inbox is an index over (user, type, state, seq, expiry). Each query is a few ranges of that index, one [`Range`]
//! for each matching state.

mod statement;

pub use entity::inbox_item::State;
pub use statement::{Place, push_range, push_shown};

/// Which items of a state, relative to the newest read mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    AboveMark,
    UpToMark,
}

/// One range of the index, within a user and a type.
pub type Range = (State, Part);

/// The side of the inbox that a query reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Items that are not archived.
    #[default]
    Inbox,
    Archive,
    Both,
}

/// The ranges of a side: all of its items, or only the read or unread ones.
pub fn ranges(side: Side, read: Option<bool>) -> &'static [Range] {
    use Part::{AboveMark, All, UpToMark};
    use State::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    match (side, read) {
        (Side::Inbox, None) => &[(Fresh, All), (Read, All), (KeptUnread, All)],
        (Side::Inbox, Some(true)) => &[(Fresh, UpToMark), (Read, All)],
        (Side::Inbox, Some(false)) => &[(Fresh, AboveMark), (KeptUnread, All)],
        (Side::Archive, None) => &[(ArchivedRead, All), (ArchivedUnread, All)],
        (Side::Archive, Some(true)) => &[(ArchivedRead, All)],
        (Side::Archive, Some(false)) => &[(ArchivedUnread, All)],
        (Side::Both, None) => {
            &[(Fresh, All), (Read, All), (KeptUnread, All), (ArchivedRead, All), (ArchivedUnread, All)]
        }
        (Side::Both, Some(true)) => &[(Fresh, UpToMark), (Read, All), (ArchivedRead, All)],
        (Side::Both, Some(false)) => &[(Fresh, AboveMark), (KeptUnread, All), (ArchivedUnread, All)],
    }
}

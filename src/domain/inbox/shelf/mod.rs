//! Which items count as what. Overview, list and marks all choose their items here, so that a count is always the
//! length of the list.
//!
//! An inbox is an index over (user, type, state, seq, expiry). Each question about it is a few ranges of that index,
//! a [`Range`] for each state that answers it.

mod statement;

pub use entity::inbox_item::State;
pub use statement::{Place, push_range, push_shown};

/// Which items of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    AboveMark,
    UpToMark,
}

/// One range of the index, within a user and a type.
pub type Range = (State, Part);

/// Which of both sides of the inbox a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// What is not archived.
    #[default]
    Inbox,
    Archive,
    Both,
}

/// The ranges that hold the items of a side, all of them or only the read or unread ones.
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

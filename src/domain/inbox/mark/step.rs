//! The state transitions of each change.

use entity::ids::{Seq, TypeId};

use crate::clock::Millis;
use crate::domain::inbox::shelf::{Part, State};
use crate::model::overview::Mark;

/// What to do with the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Read,
    Unread,
    Archive,
    Unarchive,
    Delete,
}

/// A transition from one state (and side of the read mark) to another. `to` is `None` if the items are deleted.
pub(super) struct Step {
    pub from: State,
    pub part: Part,
    pub to: Option<State>,
    /// Whether the items were already read, so that their `read_at` stays.
    pub was_read: bool,
}

impl Step {
    /// Reads items that were kept unread.
    pub const KEPT_TO_READ: Self = step(State::KeptUnread, Part::All, Some(State::Read), false);

    /// The columns that this step writes.
    pub fn put(&self) -> Put {
        let makes_read = self.makes_read();
        let Some(to) = self.to else {
            return Put { to: None, read_at: Instant::Kept, archived_at: Instant::Kept, makes_read };
        };
        let read_at = match to {
            State::Read | State::ArchivedRead if !self.was_read => Instant::Now,
            State::KeptUnread | State::ArchivedUnread => Instant::Gone,
            _ => Instant::Kept,
        };
        let archived_at = match (self.from.is_archived(), to.is_archived()) {
            (false, true) => Instant::Now,
            (true, false) => Instant::Gone,
            _ => Instant::Kept,
        };
        Put { to: Some(to), read_at, archived_at, makes_read }
    }

    /// Describes that an item took this step, for cached overviews.
    pub fn mark(&self, seq: Seq, kind: TypeId, at: Millis) -> Mark {
        Mark { seq, kind, from: self.from, to: self.to, makes_read: self.makes_read(), at }
    }

    /// 1 if it makes items read, -1 if it makes them unread. Deleting does not change whether an item was read.
    pub fn makes_read(&self) -> i64 {
        match self.to {
            Some(State::Read | State::ArchivedRead) if !self.was_read => 1,
            Some(State::KeptUnread | State::ArchivedUnread) if self.was_read => -1,
            _ => 0,
        }
    }
}

/// The new values of an item's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Put {
    /// `None` if the item is deleted.
    pub to: Option<State>,
    pub read_at: Instant,
    pub archived_at: Instant,
    /// See [`Step::makes_read`].
    pub makes_read: i64,
}

/// The new value of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Instant {
    Kept,
    Now,
    Gone,
}

/// The step that a change applies to an item. `None` if the item is already in the requested state.
pub(super) fn step_from(change: Change, state: State, is_up_to_mark: bool) -> Option<&'static Step> {
    let part = if is_up_to_mark { Part::UpToMark } else { Part::AboveMark };
    steps(change).iter().find(|step| step.from == state && (step.part == Part::All || step.part == part))
}

const fn step(from: State, part: Part, to: Option<State>, was_read: bool) -> Step {
    Step { from, part, to, was_read }
}

/// The steps of a change, one per state. States that already satisfy the change are absent.
pub(super) fn steps(change: Change) -> &'static [Step] {
    use Part::{AboveMark, All, UpToMark};
    use State::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    match change {
        Change::Read => {
            const {
                &[
                    step(Fresh, AboveMark, Some(Read), false),
                    step(KeptUnread, All, Some(Read), false),
                    step(ArchivedUnread, All, Some(ArchivedRead), false),
                ]
            }
        }
        Change::Unread => {
            const {
                &[
                    step(Read, All, Some(KeptUnread), true),
                    step(Fresh, UpToMark, Some(KeptUnread), true),
                    step(ArchivedRead, All, Some(ArchivedUnread), true),
                ]
            }
        }
        Change::Archive => {
            const {
                &[
                    step(Fresh, AboveMark, Some(ArchivedUnread), false),
                    step(Fresh, UpToMark, Some(ArchivedRead), true),
                    step(KeptUnread, All, Some(ArchivedUnread), false),
                    step(Read, All, Some(ArchivedRead), true),
                ]
            }
        }
        Change::Unarchive => {
            const { &[step(ArchivedRead, All, Some(Read), true), step(ArchivedUnread, All, Some(KeptUnread), false)] }
        }
        Change::Delete => {
            const {
                &[
                    step(Fresh, All, None, false),
                    step(Read, All, None, false),
                    step(KeptUnread, All, None, false),
                    step(ArchivedRead, All, None, false),
                    step(ArchivedUnread, All, None, false),
                ]
            }
        }
    }
}

//! The state transitions of each change, and their writing to single items.

use std::collections::BTreeMap;

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::LIST;

use super::queries;
use crate::counters::{self, ReadChange, ReaderInfo};
use crate::inbox::ranges::{ItemState, MarkPart};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use model::overview::AppliedMark;
use store::Transaction;

/// What to do with the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemChange {
    Read,
    Unread,
    Archive,
    Unarchive,
    Delete,
}

/// A transition from one state (and side of the read mark) to another. `to` is `None` if the items are deleted.
pub(super) struct StateTransition {
    pub from: ItemState,
    pub part: MarkPart,
    pub to: Option<ItemState>,
    /// Whether the items were already read, so that their `read_at` stays.
    pub was_read: bool,
}

impl StateTransition {
    /// Reads items that were kept unread.
    pub const KEPT_TO_READ: Self = new_transition(ItemState::KeptUnread, MarkPart::All, Some(ItemState::Read), false);

    /// The columns that this step writes.
    pub fn item_update(&self) -> ItemUpdate {
        let makes_read = self.read_delta();
        let Some(to) = self.to else {
            return ItemUpdate { to: None, read_at: TimeUpdate::Kept, archived_at: TimeUpdate::Kept, makes_read };
        };
        let read_at = match to {
            ItemState::Read | ItemState::ArchivedRead if !self.was_read => TimeUpdate::Now,
            ItemState::KeptUnread | ItemState::ArchivedUnread => TimeUpdate::Gone,
            _ => TimeUpdate::Kept,
        };
        let archived_at = match (self.from.is_archived(), to.is_archived()) {
            (false, true) => TimeUpdate::Now,
            (true, false) => TimeUpdate::Gone,
            _ => TimeUpdate::Kept,
        };
        ItemUpdate { to: Some(to), read_at, archived_at, makes_read }
    }

    /// Describes that an item took this step, for cached overviews.
    pub fn to_mark(&self, seq: Seq, kind: TypeId, at: Millis) -> AppliedMark {
        AppliedMark { seq, kind, from: self.from, to: self.to, makes_read: self.read_delta(), at }
    }

    /// 1 if it makes items read, -1 if it makes them unread. Deleting does not change whether an item was read.
    pub fn read_delta(&self) -> i64 {
        match self.to {
            Some(ItemState::Read | ItemState::ArchivedRead) if !self.was_read => 1,
            Some(ItemState::KeptUnread | ItemState::ArchivedUnread) if self.was_read => -1,
            _ => 0,
        }
    }
}

/// The new values of an item's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ItemUpdate {
    /// `None` if the item is deleted.
    pub to: Option<ItemState>,
    pub read_at: TimeUpdate,
    pub archived_at: TimeUpdate,
    /// See [`StateTransition::read_delta`].
    pub makes_read: i64,
}

/// The new value of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimeUpdate {
    Kept,
    Now,
    Gone,
}

/// The step that a change applies to an item. `None` if the item is already in the requested state.
pub(super) fn find_transition(
    change: ItemChange,
    state: ItemState,
    is_up_to_mark: bool,
) -> Option<&'static StateTransition> {
    let part = if is_up_to_mark { MarkPart::UpToMark } else { MarkPart::AboveMark };
    transitions_for(change).iter().find(|step| step.from == state && (step.part == MarkPart::All || step.part == part))
}

const fn new_transition(from: ItemState, part: MarkPart, to: Option<ItemState>, was_read: bool) -> StateTransition {
    StateTransition { from, part, to, was_read }
}

/// The steps of a change, one per state. States that already satisfy the change are absent.
pub(super) fn transitions_for(change: ItemChange) -> &'static [StateTransition] {
    use ItemState::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    use MarkPart::{AboveMark, All, UpToMark};
    match change {
        ItemChange::Read => {
            const {
                &[
                    new_transition(Fresh, AboveMark, Some(Read), false),
                    new_transition(KeptUnread, All, Some(Read), false),
                    new_transition(ArchivedUnread, All, Some(ArchivedRead), false),
                ]
            }
        }
        ItemChange::Unread => {
            const {
                &[
                    new_transition(Read, All, Some(KeptUnread), true),
                    new_transition(Fresh, UpToMark, Some(KeptUnread), true),
                    new_transition(ArchivedRead, All, Some(ArchivedUnread), true),
                ]
            }
        }
        ItemChange::Archive => {
            const {
                &[
                    new_transition(Fresh, AboveMark, Some(ArchivedUnread), false),
                    new_transition(Fresh, UpToMark, Some(ArchivedRead), true),
                    new_transition(KeptUnread, All, Some(ArchivedUnread), false),
                    new_transition(Read, All, Some(ArchivedRead), true),
                ]
            }
        }
        ItemChange::Unarchive => {
            const {
                &[
                    new_transition(ArchivedRead, All, Some(Read), true),
                    new_transition(ArchivedUnread, All, Some(KeptUnread), false),
                ]
            }
        }
        ItemChange::Delete => {
            const {
                &[
                    new_transition(Fresh, All, None, false),
                    new_transition(Read, All, None, false),
                    new_transition(KeptUnread, All, None, false),
                    new_transition(ArchivedRead, All, None, false),
                    new_transition(ArchivedUnread, All, None, false),
                ]
            }
        }
    }
}

/// An item and the step that it takes.
#[derive(Clone, Copy)]
pub struct ItemTransition<'a> {
    pub user: UserId,
    pub seq: Seq,
    pub step: &'a StateTransition,
}

/// Writes the new states, with one statement per 1,000 items that change alike, and records reads and unreads in the
/// counters. The caller has locked the users' rows and flushed their counter spans.
pub async fn write_transitions(
    txn: &Transaction,
    tenant: &Tenant,
    moved: &[ItemTransition<'_>],
    now: Millis,
) -> Result<()> {
    let mut alike: BTreeMap<ItemUpdate, Vec<(UserId, Seq)>> = BTreeMap::new();
    for item in moved {
        alike.entry(item.step.item_update()).or_default().push((item.user, item.seq));
    }
    for (put, items) in &alike {
        for items in items.chunks(LIST) {
            queries::write_items(txn, tenant, items, *put, now).execute(txn).await?;
        }
    }
    if queries::can_count_in_update(txn) {
        return Ok(());
    }
    let reading = |item: &ItemTransition<'_>| match item.step.read_delta() {
        0 => None,
        by => Some(ReadChange { seq: item.seq, by, reader: ReaderInfo { user: item.user, at: now } }),
    };
    counters::record_changes(txn, tenant, moved.iter().filter_map(reading)).await
}

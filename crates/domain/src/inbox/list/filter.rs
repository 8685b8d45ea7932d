//! Which items a list shows.

use entity::ids::Seq;
use entity::notification::NotificationKind;

use crate::inbox::ranges::InboxSide;
use base::clock::Millis;
use base::error::Result;
use model::catalogue::TYPES;
use model::channel::ActionTarget;
use model::validate;

/// Conditions on the listed items.
#[derive(Clone, Debug, Default)]
pub struct ItemFilter {
    /// Codes of types; `None` means all.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<NotificationKind>>,
    pub read: Option<bool>,
    pub side: InboxSide,
    pub target: Option<ActionTarget>,
    pub action: Option<String>,
    /// The sender's id in the tenant's backend.
    pub sender: Option<String>,
    /// Published at or after this instant.
    pub since: Option<Millis>,
    /// Published before this instant.
    pub until: Option<Millis>,
}

impl ItemFilter {
    /// Rejects conditions that no item can meet and that a database might not even accept.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(target) = &self.target {
            target.check().map_err(|error| error.with_field_prefix("filter"))?;
        }
        validate::at_most("filter.types", self.types.as_ref().map_or(0, Vec::len), TYPES)?;
        let codes = [("filter.action", &self.action), ("filter.sender", &self.sender)];
        codes
            .into_iter()
            .filter_map(|(field, code)| Some((field, code.as_deref()?)))
            .try_for_each(|(field, code)| validate::identifier(field, code))
    }

    /// The strategy that a read tries first. `load_page` goes from `Walk` to `Ranges` if the walk reaches its limit.
    pub fn first_strategy(&self) -> PageStrategy {
        let is_most_of_it = self.types.is_none() && self.read.is_none() && self.side != InboxSide::Archive;
        if is_most_of_it && !self.has_lookup() { PageStrategy::Walk } else { PageStrategy::Ranges }
    }

    /// Whether it has conditions on notifications, which need a lookup for each item.
    pub(super) fn has_lookup(&self) -> bool {
        let Self { kinds, target, action, sender, .. } = self;
        kinds.is_some() || target.is_some() || action.is_some() || sender.is_some()
    }
}

/// How a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStrategy {
    /// Walks along the inbox from one end, also over hidden items, for at most three pages.
    Walk,
    /// Reads a page of each type and state and merges them. Never reads hidden items, however many there are.
    Ranges,
}

/// The part of the list to read.
#[derive(Clone, Copy, Debug)]
pub struct PageWindow {
    /// Maximum number of items.
    pub many: usize,
    /// The end to start from.
    pub end: PageEnd,
    /// Only items older than this one.
    pub older_than: Option<Seq>,
    /// Only items newer than this one.
    pub newer_than: Option<Seq>,
}

/// An end of a list that is displayed newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEnd {
    Newest,
    Oldest,
}

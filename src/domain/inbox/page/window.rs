//! Which items a list shows.

use entity::ids::Seq;

use crate::clock::Millis;
use crate::domain::inbox::shelf::Side;
use crate::error::Result;
use crate::model::catalogue::TYPES;
use crate::model::channel::Target;
use crate::model::check;
use entity::notification::Kind;

/// Conditions on the listed items.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Codes of types; `None` means all.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<Kind>>,
    pub read: Option<bool>,
    pub side: Side,
    pub target: Option<Target>,
    pub action: Option<String>,
    /// The sender's id in the tenant's backend.
    pub sender: Option<String>,
    /// Published at or after this instant.
    pub since: Option<Millis>,
    /// Published before this instant.
    pub until: Option<Millis>,
}

impl Filter {
    /// Rejects conditions that no item can meet and that a database might not even accept.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(target) = &self.target {
            target.check().map_err(|error| error.within("filter"))?;
        }
        check::count("filter.types", self.types.as_ref().map_or(0, Vec::len), TYPES)?;
        let codes = [("filter.action", &self.action), ("filter.sender", &self.sender)];
        codes
            .into_iter()
            .filter_map(|(field, code)| Some((field, code.as_deref()?)))
            .try_for_each(|(field, code)| check::code(field, code))
    }

    /// The way to read the first page.
    pub fn way(&self) -> Way {
        let is_most_of_it = self.types.is_none() && self.read.is_none() && self.side != Side::Archive;
        if is_most_of_it && !self.looks_up() { Way::Walk } else { Way::Ranges }
    }

    /// Whether it has conditions on notifications, which need a lookup for each item.
    pub(super) fn looks_up(&self) -> bool {
        let Self { kinds, target, action, sender, .. } = self;
        kinds.is_some() || target.is_some() || action.is_some() || sender.is_some()
    }
}

/// How a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Walks along the inbox from one end, also over hidden items, for at most three pages.
    Walk,
    /// Reads a page of each type and state and merges them. Never reads hidden items, however many there are.
    Ranges,
}

/// The part of the list to read.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Maximum number of items.
    pub many: usize,
    /// The end to start from.
    pub end: End,
    /// Only items older than this one.
    pub older_than: Option<Seq>,
    /// Only items newer than this one.
    pub newer_than: Option<Seq>,
}

/// An end of a list that is displayed newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Newest,
    Oldest,
}

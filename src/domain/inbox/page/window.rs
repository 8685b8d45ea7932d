//! Which items a list shows.

use entity::ids::Seq;

use crate::clock::Millis;
use crate::domain::inbox::shelf::Side;
use crate::error::Result;
use crate::model::catalogue::TYPES;
use crate::model::channel::Target;
use crate::model::check;
use entity::notification::Kind;

/// Which items to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<Kind>>,
    pub read: Option<bool>,
    pub side: Side,
    pub target: Option<Target>,
    pub action: Option<String>,
    /// The partner's id.
    pub sender: Option<String>,
    /// Published at or after this instant.
    pub since: Option<Millis>,
    /// Published before this instant.
    pub until: Option<Millis>,
}

impl Filter {
    /// Refuses conditions that nothing can meet, and that a database may not even take.
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

    /// By which way its first page is looked for.
    pub fn way(&self) -> Way {
        let is_most_of_it = self.types.is_none() && self.read.is_none() && self.side != Side::Archive;
        if is_most_of_it && !self.looks_up() { Way::Walk } else { Way::Ranges }
    }

    /// Whether it asks for what is in the notifications.
    pub(super) fn looks_up(&self) -> bool {
        let Self { kinds, target, action, sender, .. } = self;
        kinds.is_some() || target.is_some() || action.is_some() || sender.is_some()
    }
}

/// How a page is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Along the inbox from its end, over what is not shown as well, for three pages.
    Walk,
    /// Of each type and state a page, which are merged: whatever is not shown, and however much, is not looked at.
    Ranges,
}

/// Which part of the list.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// How many items at the most.
    pub many: usize,
    /// From which end.
    pub end: End,
    /// Only items older than this one.
    pub older_than: Option<Seq>,
    /// Only items newer than this one.
    pub newer_than: Option<Seq>,
}

/// An end of a list that is shown newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Newest,
    Oldest,
}

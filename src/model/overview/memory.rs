//! A cache of overviews with their validators.

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::{Count, Mark, Overview, TypeOverview, Wish};
use crate::model::catalogue::{Catalogue, MessageType};
use crate::model::item::Item;
use crate::model::proof::Proof;
use crate::model::remembered::{OfUsers, Remembered};

/// Cached requests per user: that of their bell, and those of a page or two.
const WISHES: usize = 4;

/// Overhead of a cache entry in bytes: the entry, its lists, and what the allocator rounds up.
const PLACE: usize = 180;

/// A cached overview.
#[derive(Debug)]
pub struct Entry {
    pub wish: Wish,
    /// Without empty types, and without its own proof.
    pub overview: Overview,
    /// The catalogue of the overview.
    pub catalogue: Arc<Catalogue>,
    pub proof: Arc<Proof>,
}

/// Overview caches, by user.
pub type Memory = OfUsers<Entry>;

impl OfUsers<Entry> {
    /// Applies marks, which are the only changes of this version, to a user's cached overviews. Drops those that cannot
    /// be updated.
    pub fn marked(&self, user: UserId, version: i64, marks: &[Mark]) {
        let known = self.all(user);
        if known.is_empty() {
            return;
        }
        let of = |entry: &Arc<Entry>| match entry.proof.ahead_of(version) {
            0.. => Some(entry.clone()),
            -1 => entry.marked(marks).map(Arc::new),
            _ => None,
        };
        self.put(user, known.iter().filter_map(of).collect());
    }

    /// The cached overview of a user for this request.
    pub fn recall(&self, user: UserId, wish: &Wish) -> Option<Arc<Entry>> {
        self.find(user, |entry| entry.wish == *wish)
    }
}

impl Remembered for Entry {
    const MOST: usize = WISHES;

    fn weight(&self) -> usize {
        let wished = self.wish.types.iter().flatten().map(|code| size_of::<String>() + code.len());
        let held = self.overview.types.iter().map(|of| size_of_val(of) + of.latest.as_ref().map_or(0, Item::weight));
        PLACE + size_of_val(self) + self.proof.weight() + wished.sum::<usize>() + held.sum::<usize>()
    }

    fn replaces(&self, other: &Self) -> bool {
        self.wish == other.wish
    }
}

impl Entry {
    /// Creates an entry.
    pub fn new(wish: Wish, mut overview: Overview, catalogue: Arc<Catalogue>, proof: Arc<Proof>) -> Self {
        overview.types.retain(|of| of.unread.count > 0 || of.latest.is_some());
        overview.types.shrink_to_fit();
        Self { wish, overview, catalogue, proof }
    }

    /// The entry after the user's marks, for the next version of the inbox; `None` if the result is unknown.
    fn marked(&self, marks: &[Mark]) -> Option<Self> {
        let mut overview = self.overview.clone();
        let is_told = |mark: &Mark| self.proof.knows(mark.seq) && overview.mark(mark, &self.wish, &self.catalogue);
        if !marks.iter().all(is_told) {
            return None;
        }
        let (wish, catalogue) = (self.wish.clone(), self.catalogue.clone());
        Some(Self { wish, overview, catalogue, proof: Arc::new(self.proof.next()) })
    }

    /// All requested types, with the empty ones added back.
    fn types(&self) -> Vec<TypeOverview> {
        let Ok(types) = self.catalogue.chosen("types", self.wish.types.as_deref()) else { return Vec::new() };
        let mut held = self.overview.types.iter().peekable();
        let of = |message_type: Arc<MessageType>| match held.next_if(|of| of.message_type.id == message_type.id) {
            Some(of) => of.clone(),
            None => TypeOverview { message_type, unread: Count::of(0, self.wish.cap), latest: None },
        };
        types.into_iter().map(of).collect()
    }

    /// The overview with this cursor, a log position up to which the inbox is known to be complete.
    pub fn shown(&self, cursor: Seq) -> Overview {
        let Overview { user, unread, unseen, views, cap, catalogue_version, .. } = &self.overview;
        Overview {
            user: *user,
            unread: *unread,
            unseen: *unseen,
            views: views.clone(),
            cap: *cap,
            types: self.types(),
            cursor,
            catalogue_version: *catalogue_version,
            proof: Some(self.proof.clone()),
        }
    }
}

//! Overviews that were read before, each with what proves that it still holds.

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::{Count, Mark, Overview, TypeOverview, Wish};
use crate::model::catalogue::{Catalogue, MessageType};
use crate::model::item::Item;
use crate::model::proof::Proof;
use crate::model::remembered::{OfUsers, Remembered};

/// Different wishes that are remembered of a user: their bell's, and those of a page or two.
const WISHES: usize = 4;

/// What an entry takes besides what it holds, in bytes: its place in the cache, its lists' own and what allocating rounds up.
const PLACE: usize = 180;

/// An overview, and what it was made of.
#[derive(Debug)]
pub struct Entry {
    pub wish: Wish,
    /// With those of its types alone that hold anything. What proves it is beside it.
    pub overview: Overview,
    /// That the overview is of.
    pub catalogue: Arc<Catalogue>,
    pub proof: Arc<Proof>,
}

/// By user.
pub type Memory = OfUsers<Entry>;

impl OfUsers<Entry> {
    /// Brings what is remembered of a user to what their marks have made of it, which are all that is new under a version. What cannot be
    /// brought there is forgotten.
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

    /// What was kept last of a user and a wish.
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
    /// Of an overview, by what proves it.
    pub fn new(wish: Wish, mut overview: Overview, catalogue: Arc<Catalogue>, proof: Arc<Proof>) -> Self {
        overview.types.retain(|of| of.unread.count > 0 || of.latest.is_some());
        overview.types.shrink_to_fit();
        Self { wish, overview, catalogue, proof }
    }

    /// What the user's marks make of it, under the next version of their row; nothing where that cannot be told.
    fn marked(&self, marks: &[Mark]) -> Option<Self> {
        let mut overview = self.overview.clone();
        let is_told = |mark: &Mark| self.proof.knows(mark.seq) && overview.mark(mark, &self.wish, &self.catalogue);
        if !marks.iter().all(is_told) {
            return None;
        }
        let (wish, catalogue) = (self.wish.clone(), self.catalogue.clone());
        Some(Self { wish, overview, catalogue, proof: Arc::new(self.proof.next()) })
    }

    /// All types that are wished for, as they were.
    fn types(&self) -> Vec<TypeOverview> {
        let Ok(types) = self.catalogue.chosen("types", self.wish.types.as_deref()) else { return Vec::new() };
        let mut held = self.overview.types.iter().peekable();
        let of = |message_type: Arc<MessageType>| match held.next_if(|of| of.message_type.id == message_type.id) {
            Some(of) => of.clone(),
            None => TypeOverview { message_type, unread: Count::of(0, self.wish.cap), latest: None },
        };
        types.into_iter().map(of).collect()
    }

    /// The overview, as of a place in the log up to which the inbox is known not to be behind.
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

//! Overviews that show the same, and what an item more makes of one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::inbox_item::State;

use super::{Count, Overview, TypeOverview, Wish};
use crate::model::item::Item;

/// What items have made of an overview.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// It shows something else.
    pub is_another: bool,
    /// It is right. Else it is to be read.
    pub is_certain: bool,
}

impl Count {
    fn and_one(self, cap: Option<i64>) -> Self {
        if self.is_exact { Self::of(self.count + 1, cap) } else { self }
    }
}

impl Overview {
    /// The same for overviews that show the same, and seldom for others: much quicker than a fingerprint.
    pub fn outline(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let views = (self.views.total, self.views.views.len());
        (self.cursor, self.unread.count, self.unseen.count, self.cap, self.catalogue_version, views).hash(&mut hasher);
        for kind in &self.types {
            (kind.unread.count, kind.latest.as_ref().map_or(0, |item| item.seq.0)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether another user's overview shows the same, whose types and contents are the very same. Never where it holds views.
    pub fn shows_same(&self, other: &Self) -> bool {
        let numbers = |of: &Self| (of.unread, of.unseen, of.views.total, of.cap, of.cursor, of.catalogue_version);
        let has_views = !self.views.views.is_empty() || !other.views.views.is_empty();
        let mut types = self.types.iter().zip(&other.types);
        let same = types.all(|(one, other)| one.shows_same(other));
        !has_views && numbers(self) == numbers(other) && self.types.len() == other.types.len() && same
    }

    /// The same as another user sees it, of whom nothing is proven.
    #[must_use]
    pub fn seen_by(&self, user: UserId) -> Self {
        let mut overview = Self { user, proof: None, ..self.clone() };
        overview.types.iter_mut().filter_map(|kind| kind.latest.as_mut()).for_each(|item| item.user = user);
        overview
    }

    /// Makes it what it is at the end of the log with these items, oldest first, of which those that it holds already count once. What has
    /// come of it.
    pub fn add_all(&mut self, items: &[Item], end: Seq, wish: &Wish) -> Added {
        let mut added = Added { is_another: false, is_certain: true };
        let from = self.cursor;
        self.cursor = from.max(end);
        for item in items.iter().filter(|item| item.seq > from) {
            match self.add(item, wish) {
                Some(is_another) => added.is_another |= is_another,
                None => added.is_certain = false,
            }
        }
        added
    }

    /// Makes it what it is with one item more, that is newer than all of its own. Whether it is another then, for types that
    /// are not wished for do not count; nothing where that cannot be told: the item has been changed, or the catalogue has.
    fn add(&mut self, item: &Item, wish: &Wish) -> Option<bool> {
        let is_new = item.state == State::Fresh && !item.is_read();
        if !is_new || item.content.catalogue_version() != self.catalogue_version {
            return None;
        }
        let kind = self.types.iter_mut().find(|of| of.message_type.id == item.content.message_type.id);
        let Some(kind) = kind else { return Some(false) };
        kind.unread = kind.unread.and_one(wish.cap);
        kind.latest = Some(item.clone());
        self.unread = self.unread.and_one(wish.cap);
        if wish.unseen {
            self.unseen = self.unseen.and_one(wish.cap);
        }
        Some(true)
    }
}

impl TypeOverview {
    fn shows_same(&self, other: &Self) -> bool {
        let same_latest = match (&self.latest, &other.latest) {
            (Some(one), Some(other)) => one.shows_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        Arc::ptr_eq(&self.message_type, &other.message_type) && self.unread == other.unread && same_latest
    }
}

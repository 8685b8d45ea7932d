//! Comparison of overviews, and updates with new items.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;

use super::{BoundedCount, OverviewRequest, TypeOverview, UserOverview};
use crate::item::UserItem;

/// The result of adding items to an overview.
#[derive(Clone, Copy, Debug)]
pub struct AddResult {
    /// Whether the overview changed.
    pub is_another: bool,
    /// Whether the result is correct. If not, the overview must be read again.
    pub is_certain: bool,
}

impl BoundedCount {
    fn plus_one(self, cap: Option<i64>) -> Self {
        if self.is_exact { Self::with_cap(self.count + 1, cap) } else { self }
    }
}

impl UserOverview {
    /// A cheap hash: equal for equal overviews, seldom equal for others. Much faster than the fingerprint.
    pub fn quick_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let views = (self.views.total, self.views.views.len());
        (self.cursor, self.unread.count, self.unseen.count, self.cap, self.catalogue_version, views).hash(&mut hasher);
        for kind in &self.types {
            (kind.unread.count, kind.latest.as_ref().map_or(0, |item| item.seq.0)).hash(&mut hasher);
            kind.latest.as_ref().and_then(|item| item.content.reader.as_ref()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether another user's overview is equal. Types and contents must be the same objects. Always `false` with
    /// views.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let numbers = |of: &Self| (of.unread, of.unseen, of.views.total, of.cap, of.cursor, of.catalogue_version);
        let has_views = !self.views.views.is_empty() || !other.views.views.is_empty();
        let mut types = self.types.iter().zip(&other.types);
        let same = types.all(|(one, other)| one.is_equivalent(other));
        !has_views && numbers(self) == numbers(other) && self.types.len() == other.types.len() && same
    }

    /// The same overview for another user, without a proof.
    #[must_use]
    pub fn clone_for_user(&self, user: UserId) -> Self {
        let mut overview = Self { user, proof: None, ..self.clone() };
        overview.types.iter_mut().filter_map(|kind| kind.latest.as_mut()).for_each(|item| item.user = user);
        overview
    }

    /// Adds items, oldest first, and moves the cursor to `end`. Skips items that it already includes.
    pub fn add_items(&mut self, items: &[UserItem], end: Seq, wish: &OverviewRequest) -> AddResult {
        let mut added = AddResult { is_another: false, is_certain: true };
        let from = self.cursor;
        self.cursor = from.max(end);
        for item in items.iter().filter(|item| item.seq > from) {
            match self.add_item(item, wish) {
                Some(is_another) => added.is_another |= is_another,
                None => added.is_certain = false,
            }
        }
        added
    }

    /// Adds a newer item. Returns whether the overview changed (items of unrequested types do not count), or `None` if
    /// it must be read again because the item or the catalogue has changed.
    fn add_item(&mut self, item: &UserItem, wish: &OverviewRequest) -> Option<bool> {
        let is_new = item.state == ItemState::Fresh && !item.is_read();
        if !is_new || item.content.catalogue_version() != self.catalogue_version {
            return None;
        }
        let kind = self.types.iter_mut().find(|of| of.message_type.id == item.content.message_type.id);
        let Some(kind) = kind else { return Some(false) };
        kind.unread = kind.unread.plus_one(wish.cap);
        kind.latest = Some(item.clone());
        self.unread = self.unread.plus_one(wish.cap);
        if wish.unseen {
            self.unseen = self.unseen.plus_one(wish.cap);
        }
        Some(true)
    }
}

impl TypeOverview {
    fn is_equivalent(&self, other: &Self) -> bool {
        let same_latest = match (&self.latest, &other.latest) {
            (Some(one), Some(other)) => one.is_equivalent(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        Arc::ptr_eq(&self.message_type, &other.message_type) && self.unread == other.unread && same_latest
    }
}

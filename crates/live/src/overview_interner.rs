//! Interns the overviews of a room: users with equal overviews share one, and a new item is added to it once.
//!
//! Users without state of their own all have the same overview: with 5,000 of them connected, an announcement changes
//! one overview. An overview that is not shared is changed in place.

use std::sync::Arc;

use entity::ids::Seq;

use super::interner::WeakInterner;
use domain::inbox::UserItem;
use domain::overview::{AddResult, OverviewRequest, UserOverview};

/// For how many wishes the last step is cached.
const WISHES: usize = 16;

/// The overviews of a room's users. Each names the user it was first read for (see [`UserOverview::clone_for_user`]).
#[derive(Debug, Default)]
pub(super) struct OverviewInterner {
    /// By outline, a hash of what they show.
    known: WeakInterner<u64, UserOverview>,
    /// The last step per wish and, if contents depend on them, readers. There is seldom more than one.
    last: Vec<(OverviewRequest, AppliedItems)>,
}

/// The last change of an overview: the overview before and after, and the items that were added.
#[derive(Debug)]
struct AppliedItems {
    before: Arc<UserOverview>,
    items: Vec<UserItem>,
    end: Seq,
    after: Arc<UserOverview>,
    added: AddResult,
}

impl OverviewInterner {
    /// Returns a known overview that shows the same, or else this one, which is then known.
    pub fn intern(&mut self, overview: UserOverview) -> Arc<UserOverview> {
        if !overview.views.views.is_empty() {
            return Arc::new(overview);
        }
        let outline = overview.quick_hash();
        let known = self.known.get(&outline);
        if let Some(known) = known.filter(|known| known.is_equivalent(&overview)) {
            return known;
        }
        let overview = Arc::new(overview);
        self.known.insert(outline, &overview);
        overview
    }

    /// Drops entries that no session holds.
    pub fn remove_unused(&mut self) {
        self.last.clear();
        self.known.remove_unused();
    }

    /// Adds all items up to `end` to an overview, oldest first.
    pub fn add_items(
        &mut self,
        overview: &mut Arc<UserOverview>,
        items: &[UserItem],
        end: Seq,
        wish: &OverviewRequest,
    ) -> AddResult {
        if Arc::strong_count(overview) == 1 {
            return Arc::make_mut(overview).add_items(items, end, wish);
        }
        let mut last = self.last.iter();
        if let Some((_, step)) = last.find(|(of, step)| step.is_same_step(overview, items, end) && of == wish) {
            *overview = step.after.clone();
            return step.added;
        }
        let mut another = UserOverview::clone(overview);
        let added = another.add_items(items, end, wish);
        let after = self.intern(another);
        let before = std::mem::replace(overview, after.clone());
        self.last.retain(|(of, step)| of != wish || !step.has_same_readers(items));
        if self.last.len() >= WISHES {
            self.last.clear();
        }
        self.last.push((wish.clone(), AppliedItems { before, items: items.to_vec(), end, after, added }));
        added
    }
}

impl AppliedItems {
    /// Whether the users of both read their items in the same language and time zone.
    fn has_same_readers(&self, items: &[UserItem]) -> bool {
        let mut both = self.items.iter().zip(items);
        both.all(|(one, other)| one.content.reader == other.content.reader)
    }

    fn is_same_step(&self, overview: &Arc<UserOverview>, items: &[UserItem], end: Seq) -> bool {
        let is_from = Arc::ptr_eq(&self.before, overview) && self.end == end;
        let mut both = self.items.iter().zip(items);
        is_from && self.items.len() == items.len() && both.all(|(one, other)| one.is_equivalent(other))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use entity::ids::UserId;

    use super::*;
    use domain::overview::BoundedCount;
    use domain::view::UnreadViews;

    pub fn overview(user: i64, cursor: i64) -> UserOverview {
        let none = BoundedCount::with_cap(0, None);
        UserOverview {
            user: UserId(user),
            unread: none,
            unseen: none,
            views: UnreadViews::default(),
            cap: None,
            types: Vec::new(),
            cursor: Seq(cursor),
            catalogue_version: 1,
            proof: None,
        }
    }

    #[test]
    fn who_sees_the_same_goes_on_with_the_same() {
        let mut alike = OverviewInterner::default();
        let [mut ada, mut bob, cyd] = [(1, 5), (2, 5), (3, 6)].map(|(user, at)| alike.intern(overview(user, at)));
        assert!(Arc::ptr_eq(&ada, &bob) && !Arc::ptr_eq(&ada, &cyd));
        let before = ada.clone();
        for end in [Seq(6), Seq(9)] {
            for of in [&mut ada, &mut bob] {
                assert!(alike.add_items(of, &[], end, &OverviewRequest::default()).is_certain);
                assert_eq!(of.cursor, end);
            }
            assert!(Arc::ptr_eq(&ada, &bob));
        }
        assert_eq!((before.cursor, cyd.cursor), (Seq(5), Seq(6)));
    }

    #[test]
    fn what_nobody_else_sees_is_changed_where_it_is() {
        let mut alike = OverviewInterner::default();
        let mut ada = alike.intern(overview(1, 5));
        alike.add_items(&mut ada, &[], Seq(6), &OverviewRequest::default());
        let place = Arc::as_ptr(&ada);
        alike.add_items(&mut ada, &[], Seq(7), &OverviewRequest::default());
        assert_eq!((Arc::as_ptr(&ada), ada.cursor), (place, Seq(7)));
        assert!(alike.last.is_empty());
    }

    #[test]
    fn who_wishes_for_something_else_keeps_nobody_from_sharing() {
        let mut alike = OverviewInterner::default();
        let capped = OverviewRequest { cap: Some(99), ..OverviewRequest::default() };
        let wishes = [OverviewRequest::default(), capped];
        let mut all = Vec::new();
        for user in 0..3 {
            for wish in &wishes {
                all.push((wish, alike.intern(UserOverview { cap: wish.cap, ..overview(user, 5) })));
            }
        }
        for end in [Seq(6), Seq(7)] {
            for (wish, of) in &mut all {
                alike.add_items(of, &[], end, wish);
            }
            for (wish, of) in &all {
                let first = all.iter().find(|(other, _)| other == wish);
                assert!(first.is_some_and(|(_, first)| Arc::ptr_eq(first, of) && of.cap == wish.cap));
            }
        }
        alike.remove_unused();
        assert_eq!(alike.known.len(), wishes.len());
        drop(all);
        alike.remove_unused();
        assert_eq!(alike.known.len(), 0);
    }
}

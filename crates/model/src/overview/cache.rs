//! A cache of overviews with their validators.

use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::{AppliedMark, BoundedCount, OverviewRequest, TypeOverview, UserOverview};
use crate::cache_validator::CacheValidator;
use crate::catalogue::{Catalogue, MessageType};
use crate::item::UserItem;
use crate::per_user_cache::{CacheEntry, PerUserCache};

/// Cached requests per user: that of their bell, and those of a page or two.
const WISHES: usize = 4;

/// Overhead of a cache entry in bytes: the entry, its lists, and what the allocator rounds up.
const PLACE: usize = 180;

/// A cached overview.
#[derive(Debug)]
pub struct CachedOverview {
    pub wish: OverviewRequest,
    /// Without empty types, and without its own proof.
    pub overview: UserOverview,
    /// The catalogue of the overview.
    pub catalogue: Arc<Catalogue>,
    pub proof: Arc<CacheValidator>,
}

/// Overview caches, by user.
pub type OverviewCache = PerUserCache<CachedOverview>;

impl PerUserCache<CachedOverview> {
    /// Applies marks, which are the only changes of this version, to a user's cached overviews. Drops those that cannot
    /// be updated.
    pub fn apply_marks(&self, user: UserId, version: i64, marks: &[AppliedMark]) {
        let known = self.all(user);
        if known.is_empty() {
            return;
        }
        let of = |entry: &Arc<CachedOverview>| match entry.proof.versions_ahead(version) {
            0.. => Some(entry.clone()),
            -1 => entry.with_marks(marks).map(Arc::new),
            _ => None,
        };
        self.replace_all(user, known.iter().filter_map(of).collect());
    }

    /// The cached overview of a user for this request.
    pub fn find_by_request(&self, user: UserId, wish: &OverviewRequest) -> Option<Arc<CachedOverview>> {
        self.find(user, |entry| entry.wish == *wish)
    }
}

impl CacheEntry for CachedOverview {
    const MOST: usize = WISHES;

    fn weight(&self) -> usize {
        let wished = self.wish.types.iter().flatten().map(|code| size_of::<String>() + code.len());
        let held =
            self.overview.types.iter().map(|of| size_of_val(of) + of.latest.as_ref().map_or(0, UserItem::weight));
        PLACE + size_of_val(self) + self.proof.weight() + wished.sum::<usize>() + held.sum::<usize>()
    }

    fn replaces(&self, other: &Self) -> bool {
        self.wish == other.wish
    }
}

impl CachedOverview {
    /// Creates an entry.
    pub fn new(
        wish: OverviewRequest,
        mut overview: UserOverview,
        catalogue: Arc<Catalogue>,
        proof: Arc<CacheValidator>,
    ) -> Self {
        overview.types.retain(|of| of.unread.count > 0 || of.latest.is_some());
        overview.types.shrink_to_fit();
        Self { wish, overview, catalogue, proof }
    }

    /// The entry after the user's marks, for the next version of the inbox; `None` if the result is unknown.
    fn with_marks(&self, marks: &[AppliedMark]) -> Option<Self> {
        let mut overview = self.overview.clone();
        let is_told = |mark: &AppliedMark| {
            self.proof.has_seen(mark.seq) && overview.apply_mark(mark, &self.wish, &self.catalogue)
        };
        if !marks.iter().all(is_told) {
            return None;
        }
        let (wish, catalogue) = (self.wish.clone(), self.catalogue.clone());
        Some(Self { wish, overview, catalogue, proof: Arc::new(self.proof.for_next_version()) })
    }

    /// All requested types, with the empty ones added back.
    fn all_types(&self) -> Vec<TypeOverview> {
        let Ok(types) = self.catalogue.select_types("types", self.wish.types.as_deref()) else { return Vec::new() };
        let mut held = self.overview.types.iter().peekable();
        let of = |message_type: Arc<MessageType>| match held.next_if(|of| of.message_type.id == message_type.id) {
            Some(of) => of.clone(),
            None => TypeOverview { message_type, unread: BoundedCount::with_cap(0, self.wish.cap), latest: None },
        };
        types.into_iter().map(of).collect()
    }

    /// The overview with this cursor, a log position up to which the inbox is known to be complete.
    pub fn to_overview(&self, cursor: Seq) -> UserOverview {
        let UserOverview { user, unread, unseen, views, cap, catalogue_version, .. } = &self.overview;
        UserOverview {
            user: *user,
            unread: *unread,
            unseen: *unseen,
            views: views.clone(),
            cap: *cap,
            types: self.all_types(),
            cursor,
            catalogue_version: *catalogue_version,
            proof: Some(self.proof.clone()),
        }
    }
}

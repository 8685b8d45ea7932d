//! Overviews: unread counts and latest items by type.

mod cache;
mod etag;
mod mark_update;
mod merge;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::cache_validator::CacheValidator;
use super::catalogue::MessageType;
use super::item::UserItem;
use super::view;
pub use cache::{CachedOverview, OverviewCache};
pub use etag::VisibleFields;
pub use mark_update::AppliedMark;
pub use merge::AddResult;

/// What to include in an overview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OverviewRequest {
    /// Type codes; `None` for all.
    pub types: Option<Vec<String>>,
    /// Maximum of each count; at least 1.
    pub cap: Option<i64>,
    /// Whether to count unseen items, which scans the arrivals since the inbox was last marked as seen.
    pub unseen: bool,
    /// How many unread views to include with their total, which costs one more statement.
    pub views: Option<usize>,
}

/// A count, possibly capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoundedCount {
    pub count: i64,
    /// `false` if the real count is above the cap; then `count` is the cap.
    pub is_exact: bool,
}

impl BoundedCount {
    /// Applies the cap. The caller counts up to one above it.
    pub fn with_cap(counted: i64, cap: Option<i64>) -> Self {
        match cap {
            Some(cap) if counted > cap => Self { count: cap, is_exact: false },
            _ => Self { count: counted, is_exact: true },
        }
    }
}

/// The state of a user's inbox.
#[derive(Clone, Debug)]
pub struct UserOverview {
    pub user: UserId,
    pub unread: BoundedCount,
    pub unseen: BoundedCount,
    /// Unread activities of all views; empty if not requested.
    pub views: view::UnreadViews,
    /// The cap of the counts.
    pub cap: Option<i64>,
    /// In catalogue order.
    pub types: Vec<TypeOverview>,
    /// Log position of the overview.
    pub cursor: Seq,
    /// Version of the catalogue it was made with.
    pub catalogue_version: i64,
    /// Validator for everything but the views; `None` if it cannot be revalidated.
    pub proof: Option<Arc<CacheValidator>>,
}

impl UserOverview {
    /// Overviews with the same fingerprint are equal, except for the cursor.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.unread, self.unseen, self.catalogue_version, self.views.total).hash(&mut hasher);
        for of in &self.views.views {
            (&of.key, of.unread, of.last_activity_at, of.last_visited_at, &of.latest).hash(&mut hasher);
        }
        for kind in &self.types {
            let latest = kind.latest.as_ref();
            let latest = latest.map(|item| {
                let shown = (item.content.updated_at, &item.content.sender, &item.content.reader);
                (item.seq, item.state, item.read_at, item.expires_at, shown)
            });
            (kind.message_type.id, kind.unread, latest).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl UserOverview {
    /// Unread items and unread activities of views together.
    pub fn total_unread(&self) -> BoundedCount {
        if self.unread.is_exact {
            BoundedCount::with_cap(self.unread.count + self.views.total, self.cap)
        } else {
            self.unread
        }
    }
}

/// The part of an overview about one type.
#[derive(Clone, Debug)]
pub struct TypeOverview {
    pub message_type: Arc<MessageType>,
    pub unread: BoundedCount,
    /// The newest item that is neither archived nor expired.
    pub latest: Option<UserItem>,
}

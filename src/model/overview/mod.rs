//! Overviews: unread counts and latest items of every type.

mod marked;
mod memory;
mod same;
mod tag;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::catalogue::MessageType;
use super::item::Item;
use super::proof::Proof;
use super::view;

pub use marked::Mark;
pub use memory::{Entry, Memory};
pub use same::Added;
pub use tag::Fields;

/// What to put into an overview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wish {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    /// Counts stop here; at least 1.
    pub cap: Option<i64>,
    /// Whether `unseen` is wanted, which costs a walk over what arrived since.
    pub unseen: bool,
    /// How many unread views are wanted along with their sum, which together cost one more statement.
    pub views: Option<usize>,
}

/// How many, or that there are more than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    pub count: i64,
    /// False where there were more than the cap, which is then the count.
    pub is_exact: bool,
}

impl Count {
    /// What is above the cap is cut. Where items were counted, they were counted up to one above it.
    pub fn of(counted: i64, cap: Option<i64>) -> Self {
        match cap {
            Some(cap) if counted > cap => Self { count: cap, is_exact: false },
            _ => Self { count: counted, is_exact: true },
        }
    }
}

/// Where one user's inbox stands.
#[derive(Clone, Debug)]
pub struct Overview {
    pub user: UserId,
    pub unread: Count,
    pub unseen: Count,
    /// Unread activities of all views; nothing unless they were wanted.
    pub views: view::Unread,
    /// Where counts stop.
    pub cap: Option<i64>,
    /// In catalogue order.
    pub types: Vec<TypeOverview>,
    /// It shows the inbox as of this place in the log.
    pub cursor: Seq,
    /// Of the catalogue that it shows.
    pub catalogue_version: i64,
    /// By which it is known that all of it but views would be read again; nothing where that cannot be told.
    pub proof: Option<Arc<Proof>>,
}

impl Overview {
    /// Two overviews with the same one show the same, but for the cursor.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.unread, self.unseen, self.catalogue_version, self.views.total).hash(&mut hasher);
        for of in &self.views.views {
            (&of.key, of.unread, of.last_activity_at, of.last_visited_at, &of.latest).hash(&mut hasher);
        }
        for kind in &self.types {
            let latest = kind.latest.as_ref();
            let latest = latest.map(|item| {
                let shown = (item.content.updated_at, &item.content.sender);
                (item.seq, item.state, item.read_at, item.expires_at, shown)
            });
            (kind.message_type.id, kind.unread, latest).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Overview {
    /// Inbox and views together, where views were wanted.
    pub fn total(&self) -> Count {
        if self.unread.is_exact { Count::of(self.unread.count + self.views.total, self.cap) } else { self.unread }
    }
}

/// One type of it.
#[derive(Clone, Debug)]
pub struct TypeOverview {
    pub message_type: Arc<MessageType>,
    pub unread: Count,
    /// The newest item that is neither archived nor expired.
    pub latest: Option<Item>,
}

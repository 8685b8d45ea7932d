//! Cache validators for data read from an inbox. Before cached data is shown, a small statement asks the database
//! whether its validator still holds, so that no stale data is shown.

mod invalidation_watch;

use std::sync::atomic::{AtomicI64, Ordering};

use entity::columns;
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::inbox_position::InboxPosition;
use base::clock::Millis;
pub use invalidation_watch::{ASKED_EVERY, ChannelShards, InvalidationWatch, hash_tokens};

columns! {
    /// Versions of an inbox. Together with the cursor and the catalogue version they determine everything in it, except
    /// that items expire and senders' profiles change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InboxVersions {
        /// Version of the inbox; changed by the user's marks and by the sweep, not by arrivals.
        pub version: i64 = "h_user_version",
        /// The newest item, because messages arrive without a sync. Each is newer than everything before.
        newest: Seq = "h_newest",
        /// Version of the tenant's texts; changed by each amendment.
        pub texts: i64 = "h_texts",
    }
}

/// Validator of data that one statement has read from an inbox.
#[derive(Debug)]
pub struct CacheValidator {
    pub user: UserId,
    cursor: Seq,
    catalogue_version: i64,
    stamp: InboxVersions,
    /// The instant that decided which items had expired.
    pub read_at: Millis,
    /// The senders shown, each with the version of their profile.
    pub senders: Vec<(UserId, i64)>,
    /// End of the log up to which the inbox is known to be complete.
    complete_upto: AtomicI64,
    /// The invalidation tokens at the last validation by the database; `None` without Redis.
    pub watch: Mutex<Option<InvalidationWatch>>,
}

impl CacheValidator {
    /// A validator for data of a whole inbox; `None` if the inbox was behind or has items beyond the end that was read.
    pub fn for_inbox(standing: &InboxPosition, stamp: InboxVersions, read_at: Millis) -> Option<Self> {
        let complete_upto = standing.complete_upto();
        let is_whole = !standing.is_behind() && stamp.newest <= complete_upto;
        is_whole.then(|| Self {
            user: standing.user,
            cursor: standing.cursor,
            catalogue_version: standing.catalogue_version,
            stamp,
            read_at,
            senders: Vec::new(),
            complete_upto: complete_upto.0.into(),
            watch: Mutex::default(),
        })
    }

    /// The log position at which the data is still valid; `None` if it is not.
    pub fn valid_at(&self, standing: &InboxPosition, stamp: InboxVersions) -> Option<Seq> {
        // An end before the known one means another log: the database was restored.
        let is_same =
            (standing.cursor, standing.catalogue_version, stamp) == (self.cursor, self.catalogue_version, self.stamp);
        if standing.is_behind() || !is_same || standing.complete_upto() < self.complete_upto() {
            return None;
        }
        self.complete_upto.fetch_max(standing.complete_upto().0, Ordering::Relaxed);
        Some(standing.complete_upto())
    }

    /// The current end of the log up to which the inbox is known to be complete.
    pub fn complete_upto(&self) -> Seq {
        Seq(self.complete_upto.load(Ordering::Relaxed))
    }

    /// How many versions it is ahead of a version of the inbox.
    pub fn versions_ahead(&self, version: i64) -> i64 {
        self.stamp.version - version
    }

    /// Whether the item existed when the data was read.
    pub fn has_seen(&self, item: Seq) -> bool {
        item <= self.stamp.newest
    }

    /// The same validator for the next version of the inbox.
    #[must_use]
    pub fn for_next_version(&self) -> Self {
        Self {
            user: self.user,
            cursor: self.cursor,
            catalogue_version: self.catalogue_version,
            stamp: InboxVersions { version: self.stamp.version + 1, ..self.stamp },
            read_at: self.read_at,
            senders: self.senders.clone(),
            complete_upto: self.complete_upto().0.into(),
            // No tokens were registered for this version.
            watch: Mutex::default(),
        }
    }

    /// Bytes in memory.
    pub fn weight(&self) -> usize {
        size_of_val(self) + size_of_val(self.senders.as_slice())
    }
}

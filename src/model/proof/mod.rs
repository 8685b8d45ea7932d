//! By what it is known that something that was read of an inbox would be read again. Whether it still holds is asked of the database each
//! time, by a small part of what it takes to read it again, so that nothing is ever shown that does not.

mod watch;

use std::sync::atomic::{AtomicI64, Ordering};

use entity::columns;
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::standing::Standing;
use crate::clock::Millis;

pub use watch::{ASKED_EVERY, Shares, Watch, hung};

columns! {
    /// With the cursor and the catalogue, of all that an inbox shows but time: what is read twice of an inbox with the same ones, between
    /// which nothing has expired and no sender has another profile, is the same.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Stamp {
        /// Of their inbox: what they or the sweep has changed since it arrived.
        pub version: i64 = "h_user_version",
        /// Messages come without a sync, each newer than everything before.
        newest: Seq = "h_newest",
        /// Of the texts of the tenant: another one each time that one is amended.
        pub texts: i64 = "h_texts",
    }
}

/// What something was made of that one statement has read of an inbox.
#[derive(Debug)]
pub struct Proof {
    pub user: UserId,
    cursor: Seq,
    catalogue_version: i64,
    stamp: Stamp,
    /// The instant by which it was decided what has expired.
    pub read_at: Millis,
    /// Who sent what it shows, each with the version of their profile.
    pub senders: Vec<(UserId, i64)>,
    /// The end of the log up to which the inbox is known not to be behind.
    complete_upto: AtomicI64,
    /// What hung on the board when the database said last that it holds; nothing where there is no board.
    pub watch: Mutex<Option<Watch>>,
}

impl Proof {
    /// Of what was read of a whole inbox: that was not behind, and holds nothing beyond where it was cut.
    pub fn of(standing: &Standing, stamp: Stamp, read_at: Millis) -> Option<Self> {
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

    /// As of which place in the log it is shown, where it still holds.
    pub fn at(&self, standing: &Standing, stamp: Stamp) -> Option<Seq> {
        // A log that ends before what was known of it is another one.
        let is_same =
            (standing.cursor, standing.catalogue_version, stamp) == (self.cursor, self.catalogue_version, self.stamp);
        if standing.is_behind() || !is_same || standing.complete_upto() < self.complete_upto() {
            return None;
        }
        self.complete_upto.fetch_max(standing.complete_upto().0, Ordering::Relaxed);
        Some(standing.complete_upto())
    }

    /// The end of the log up to which the inbox is known not to be behind, as it is now.
    pub fn complete_upto(&self) -> Seq {
        Seq(self.complete_upto.load(Ordering::Relaxed))
    }

    /// How many changes of the inbox it is ahead of a version of it.
    pub fn ahead_of(&self, version: i64) -> i64 {
        self.stamp.version - version
    }

    /// Whether an item was there when it was made.
    pub fn knows(&self, item: Seq) -> bool {
        item <= self.stamp.newest
    }

    /// The same under the next version of the inbox.
    #[must_use]
    pub fn next(&self) -> Self {
        Self {
            user: self.user,
            cursor: self.cursor,
            catalogue_version: self.catalogue_version,
            stamp: Stamp { version: self.stamp.version + 1, ..self.stamp },
            read_at: self.read_at,
            senders: self.senders.clone(),
            complete_upto: self.complete_upto().0.into(),
            // Nothing hung when it was made.
            watch: Mutex::default(),
        }
    }

    /// In bytes.
    pub fn weight(&self) -> usize {
        size_of_val(self) + size_of_val(self.senders.as_slice())
    }
}

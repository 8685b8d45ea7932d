//! What notifications show that was read before: so that what many inboxes show is read, kept and rendered once.
//!
//! Whether it still holds is said by the statement that names it, by a few of its columns.

use std::collections::HashMap;
use std::sync::Arc;

use entity::columns;
use entity::ids::{Seq, TenantId, UserId};
use parking_lot::Mutex;

use super::catalogue::Catalogue;
use super::item::Content;
use crate::clock::Millis;

/// What an entry takes besides its content, in bytes: its place, and what allocating rounds up.
const PLACE: usize = 150;

columns! {
    /// By which it is known that a notification `n` of the sender `s` shows what it did, as long as no text of the tenant is amended and the
    /// catalogue is the same.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Edition {
        /// The notification's number.
        pub notification: i64 = "n.id",
        pub published_at: Millis = "n.published_at AS item_published_at",
        /// When its text was last amended.
        pub updated_at: Option<Millis> = "n.updated_at",
        pub sender: Option<UserId> = "s.id",
        /// Of the sender's profile.
        sender_version: Option<i64> = "s.profile_version",
    }
}

impl Edition {
    /// The sender and the version of their profile.
    pub fn sender(&self) -> Option<(UserId, i64)> {
        self.sender.zip(self.sender_version)
    }
}

/// What is shown by one of a tenant's catalogues, as of a version of its texts.
#[derive(Clone, Copy, Debug)]
pub struct Shelf<'a> {
    pub tenant: TenantId,
    pub catalogue: &'a Arc<Catalogue>,
    pub texts: i64,
}

/// What was read lately of all tenants, by place in their logs.
#[derive(Debug)]
pub struct Contents {
    bytes: usize,
    known: Mutex<Generations>,
}

/// Two of them, so that what nobody reads any more goes with the older one.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<(TenantId, Seq), Known>,
    old: HashMap<(TenantId, Seq), Known>,
    /// Bytes that the young take.
    weight: usize,
}

#[derive(Debug)]
struct Known {
    edition: Edition,
    texts: i64,
    content: Arc<Content>,
}

impl Contents {
    /// Of about so many bytes; none for 0.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, known: Mutex::default() }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.known.lock() = Generations::default();
    }

    /// What a notification showed, where it still does.
    pub fn find(&self, on: Shelf<'_>, seq: Seq, edition: &Edition) -> Option<Arc<Content>> {
        let place = (on.tenant, seq);
        let mut known = self.known.lock();
        if let Some(one) = known.young.get(&place) {
            return one.shows(on, edition);
        }
        let one = known.old.remove(&place)?;
        let content = one.shows(on, edition)?;
        known.put(place, one, self.bytes / 2);
        Some(content)
    }

    /// Remembers what a notification shows.
    pub fn keep(&self, on: Shelf<'_>, seq: Seq, edition: Edition, content: &Arc<Content>) {
        if self.bytes > 0 {
            let one = Known { edition, texts: on.texts, content: content.clone() };
            self.known.lock().put((on.tenant, seq), one, self.bytes / 2);
        }
    }
}

impl Known {
    fn shows(&self, on: Shelf<'_>, edition: &Edition) -> Option<Arc<Content>> {
        let is_same = self.edition == *edition && self.texts == on.texts;
        (is_same && Arc::ptr_eq(&self.content.catalogue, on.catalogue)).then(|| self.content.clone())
    }

    /// With what templates make of it, which is taken to be as long as what they make it of.
    fn weight(&self) -> usize {
        PLACE + self.content.weight() + self.content.length()
    }
}

impl Generations {
    /// Puts one among the young, which are the old ones once they take more than `most` bytes.
    fn put(&mut self, place: (TenantId, Seq), one: Known, most: usize) {
        self.weight += one.weight();
        let before = self.young.insert(place, one);
        self.weight -= before.map_or(0, |one| one.weight());
        if self.weight > most {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
    }
}

//! A cache of notification contents, so that a notification in many inboxes is read, stored and rendered once.
//!
//! The statement that reads an item also reads a few columns that tell whether the cached content is still valid.

use std::collections::HashMap;
use std::sync::Arc;

use entity::columns;
use entity::ids::{Seq, TenantId, UserId};
use parking_lot::Mutex;

use super::catalogue::Catalogue;
use super::item::Content;
use crate::clock::Millis;

/// Overhead of an entry in bytes: its place in the map, and what the allocator rounds up.
const PLACE: usize = 150;

columns! {
    /// Revision of a notification `n` with its sender `s`. Content of the same revision is the same while the catalogue
    /// is the same and no text of the tenant has been amended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Edition {
        /// The notification's id.
        pub notification: i64 = "n.id",
        pub published_at: Millis = "n.published_at AS item_published_at",
        /// When its text was last amended.
        pub updated_at: Option<Millis> = "n.updated_at",
        pub sender: Option<UserId> = "s.id",
        /// Version of the sender's profile.
        sender_version: Option<i64> = "s.profile_version",
    }
}

impl Edition {
    /// The sender and the version of their profile.
    pub fn sender(&self) -> Option<(UserId, i64)> {
        self.sender.zip(self.sender_version)
    }
}

/// Scope of cache entries: a tenant's catalogue and the version of its texts.
#[derive(Clone, Copy, Debug)]
pub struct Shelf<'a> {
    pub tenant: TenantId,
    pub catalogue: &'a Arc<Catalogue>,
    pub texts: i64,
}

/// Recently read contents of all tenants, by log position.
#[derive(Debug)]
pub struct Contents {
    bytes: usize,
    known: Mutex<Generations>,
}

/// Two generations: entries that are no longer read are dropped with the older one.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<(TenantId, Seq), Known>,
    old: HashMap<(TenantId, Seq), Known>,
    /// Bytes of the young generation.
    weight: usize,
}

#[derive(Debug)]
struct Known {
    edition: Edition,
    texts: i64,
    content: Arc<Content>,
}

impl Contents {
    /// A cache of about this many bytes; 0 disables it.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, known: Mutex::default() }
    }

    /// Empties the cache.
    pub fn clear(&self) {
        *self.known.lock() = Generations::default();
    }

    /// The cached content if it is still valid.
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

    /// Caches a content.
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

    /// Counts the text twice, because rendered templates take about as much again.
    fn weight(&self) -> usize {
        PLACE + self.content.weight() + self.content.length()
    }
}

impl Generations {
    /// Inserts an entry. Once the young generation exceeds `most` bytes, it replaces the old one.
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

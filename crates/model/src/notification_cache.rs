//! A cache of notification contents, so that a notification in many inboxes is read, stored and rendered once.
//!
//! The statement that reads an item also reads a few columns that tell whether the cached content is still valid.

use std::collections::HashMap;
use std::sync::Arc;

use entity::columns;
use entity::ids::{Seq, TenantId, UserId};
use parking_lot::Mutex;

use super::catalogue::Catalogue;
use super::item::ItemContent;
use super::reader::ReaderLocale;
use base::clock::Millis;

/// Overhead of an entry in bytes: its place in the map, and what the allocator rounds up.
const PLACE: usize = 150;

columns! {
    /// Revision of a notification `n` with its sender `s`. Content of the same revision is the same while the catalogue
    /// is the same and no text of the tenant has been amended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ContentRevision {
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

impl ContentRevision {
    /// The sender and the version of their profile.
    pub fn sender(&self) -> Option<(UserId, i64)> {
        self.sender.zip(self.sender_version)
    }
}

/// Scope of cache entries: a tenant's catalogue and the version of its texts.
#[derive(Clone, Copy, Debug)]
pub struct CacheScope<'a> {
    pub tenant: TenantId,
    pub catalogue: &'a Arc<Catalogue>,
    pub texts: i64,
}

/// The log position of a content, and its reader if it depends on the reader.
type ContentKey = (TenantId, Seq, Option<Arc<ReaderLocale>>);

/// Recently read contents of all tenants.
#[derive(Debug)]
pub struct NotificationCache {
    bytes: usize,
    known: Mutex<CacheGenerations>,
}

/// Two generations: entries that are no longer read are dropped with the older one.
#[derive(Debug, Default)]
struct CacheGenerations {
    young: HashMap<ContentKey, CachedContent>,
    old: HashMap<ContentKey, CachedContent>,
    /// Bytes of the young generation.
    weight: usize,
}

#[derive(Debug)]
struct CachedContent {
    edition: ContentRevision,
    texts: i64,
    content: Arc<ItemContent>,
}

impl NotificationCache {
    /// A cache of about this many bytes; 0 disables it.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, known: Mutex::default() }
    }

    /// Empties the cache.
    pub fn clear(&self) {
        *self.known.lock() = CacheGenerations::default();
    }

    /// The cached content if it is still valid, for a reader, or without one.
    pub fn find(
        &self,
        on: CacheScope<'_>,
        (seq, reader): (Seq, Option<&Arc<ReaderLocale>>),
        edition: &ContentRevision,
    ) -> Option<Arc<ItemContent>> {
        let place = (on.tenant, seq, reader.cloned());
        let mut known = self.known.lock();
        if let Some(one) = known.young.get(&place) {
            return one.valid_content(on, edition);
        }
        let one = known.old.remove(&place)?;
        let content = one.valid_content(on, edition)?;
        known.insert(place, one, self.bytes / 2);
        Some(content)
    }

    /// Caches a content for its reader.
    pub fn insert(&self, on: CacheScope<'_>, seq: Seq, edition: ContentRevision, content: &Arc<ItemContent>) {
        if self.bytes > 0 {
            let one = CachedContent { edition, texts: on.texts, content: content.clone() };
            self.known.lock().insert((on.tenant, seq, content.reader.clone()), one, self.bytes / 2);
        }
    }
}

impl CachedContent {
    fn valid_content(&self, on: CacheScope<'_>, edition: &ContentRevision) -> Option<Arc<ItemContent>> {
        let is_same = self.edition == *edition && self.texts == on.texts;
        (is_same && Arc::ptr_eq(&self.content.catalogue, on.catalogue)).then(|| self.content.clone())
    }

    /// Counts the text twice, because rendered templates take about as much again.
    fn weight(&self) -> usize {
        PLACE + self.content.weight() + self.content.text_length()
    }
}

impl CacheGenerations {
    /// Inserts an entry. Once the young generation exceeds `most` bytes, it replaces the old one.
    fn insert(&mut self, place: ContentKey, one: CachedContent, most: usize) {
        self.weight += one.weight();
        let before = self.young.insert(place, one);
        self.weight -= before.map_or(0, |one| one.weight());
        if self.weight > most {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
    }
}

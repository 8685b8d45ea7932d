//! Overviews that were read before, each with what proves that it still holds.

use std::sync::Arc;

use entity::ids::{Seq, UserId};
use moka::future::Cache;

use super::{Count, Mark, Overview, TypeOverview, Wish};
use crate::model::catalogue::{Catalogue, MessageType};
use crate::model::item::Item;
use crate::model::proof::Proof;

/// Different wishes that are remembered of a user: their bell's, and those of a page or two.
const WISHES: usize = 4;

/// What an entry takes besides what it holds, in bytes: its place in the cache, its lists' own and what allocating rounds up.
const PLACE: usize = 400;

/// An overview, and what it was made of.
#[derive(Debug)]
pub struct Entry {
    pub wish: Wish,
    /// With those of its types alone that hold anything.
    pub overview: Overview,
    /// That the overview is of.
    pub catalogue: Arc<Catalogue>,
    pub proof: Arc<Proof>,
}

/// By user; what is used least goes first.
#[derive(Clone, Debug)]
pub struct Memory(Cache<UserId, Arc<Vec<Arc<Entry>>>>);

impl Memory {
    /// Of about so many bytes.
    pub fn new(bytes: u64) -> Self {
        let weigh = |_: &UserId, entries: &Arc<Vec<Arc<Entry>>>| {
            let bytes: usize = entries.iter().map(|entry| entry.weight()).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).build())
    }

    /// Spares the question whether those of users still hold, who are known to have changed.
    pub async fn forget(&self, users: &[UserId]) {
        for user in users {
            self.0.invalidate(user).await;
        }
    }

    /// Brings what is remembered of a user to what their marks have made of it, which are all that is new under a version. What cannot be
    /// brought there is forgotten.
    pub async fn marked(&self, user: UserId, version: i64, marks: &[Mark]) {
        let Some(known) = self.0.get(&user).await else { return };
        let of = |entry: &Arc<Entry>| match entry.proof.ahead_of(version) {
            0.. => Some(entry.clone()),
            -1 => entry.marked(marks).map(Arc::new),
            _ => None,
        };
        let entries: Vec<Arc<Entry>> = known.iter().filter_map(of).collect();
        if entries.is_empty() {
            return self.0.invalidate(&user).await;
        }
        self.0.insert(user, Arc::new(entries)).await;
    }

    /// What was kept last of a user and a wish.
    pub async fn recall(&self, user: UserId, wish: &Wish) -> Option<Arc<Entry>> {
        self.0.get(&user).await?.iter().find(|entry| entry.wish == *wish).cloned()
    }

    /// Some of what is remembered, at most so many of it.
    pub fn some(&self, many: usize) -> Vec<Arc<Entry>> {
        self.0.iter().flat_map(|(_, entries)| entries.to_vec()).take(many).collect()
    }

    /// About how many bytes it takes, as it counts them.
    pub async fn weight(&self) -> u64 {
        self.0.run_pending_tasks().await;
        self.0.weighted_size()
    }

    pub async fn keep(&self, mut entry: Entry) {
        entry.overview.types.retain(|of| of.unread.count > 0 || of.latest.is_some());
        entry.overview.types.shrink_to_fit();
        let user = entry.overview.user;
        let mut entries = self.0.get(&user).await.map(|known| known.to_vec()).unwrap_or_default();
        entries.retain(|known| known.wish != entry.wish);
        if entries.len() == WISHES {
            entries.remove(0);
        }
        entries.push(Arc::new(entry));
        self.0.insert(user, Arc::new(entries)).await;
    }
}

impl Entry {
    /// In bytes. What others remember too counts for each.
    fn weight(&self) -> usize {
        let wished = self.wish.types.iter().flatten().map(|code| size_of::<String>() + code.len());
        let held = self.overview.types.iter().map(|of| size_of_val(of) + of.latest.as_ref().map_or(0, Item::weight));
        PLACE + size_of_val(self) + self.proof.weight() + wished.sum::<usize>() + held.sum::<usize>()
    }

    /// What the user's marks make of it, under the next version of their row; nothing where that cannot be told.
    fn marked(&self, marks: &[Mark]) -> Option<Self> {
        let mut overview = self.overview.clone();
        let is_told = |mark: &Mark| self.proof.knows(mark.seq) && overview.mark(mark, &self.wish, &self.catalogue);
        if !marks.iter().all(is_told) {
            return None;
        }
        let proof = Arc::new(self.proof.next());
        overview.proof = Some(proof.clone());
        Some(Self { wish: self.wish.clone(), overview, catalogue: self.catalogue.clone(), proof })
    }

    /// All types that are wished for, as they were.
    fn types(&self) -> Vec<TypeOverview> {
        let Ok(types) = self.catalogue.chosen("types", self.wish.types.as_deref()) else { return Vec::new() };
        let mut held = self.overview.types.iter().peekable();
        let of = |message_type: Arc<MessageType>| match held.next_if(|of| of.message_type.id == message_type.id) {
            Some(of) => of.clone(),
            None => TypeOverview { message_type, unread: Count::of(0, self.wish.cap), latest: None },
        };
        types.into_iter().map(of).collect()
    }

    /// The overview, as of a place in the log up to which the inbox is known not to be behind.
    pub fn shown(&self, cursor: Seq) -> Overview {
        let Overview { user, unread, unseen, views, cap, catalogue_version, .. } = &self.overview;
        Overview {
            user: *user,
            unread: *unread,
            unseen: *unseen,
            views: views.clone(),
            cap: *cap,
            types: self.types(),
            cursor,
            catalogue_version: *catalogue_version,
            proof: Some(self.proof.clone()),
        }
    }
}

//! Overviews that were read before. Whether one still holds is asked of the database each time, by a small part of what it
//! takes to read it again, so that none is ever shown that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::ids::{Seq, UserId};
use entity::prelude::FromQueryResult;
use moka::future::Cache;
use parking_lot::Mutex;

use super::answer::Made;
use super::watch::Watch;
use super::{Count, Mark, Overview, TypeOverview, Wish, next_reading};
use crate::clock::Millis;
use crate::model::catalogue::{Catalogue, MessageType};
use crate::model::item::Item;
use crate::model::standing::Standing;

/// Different wishes that are remembered of a user: their bell's, and those of a page or two.
const WISHES: usize = 4;

/// Answers that are remembered of an entry: a page asks in one or two ways.
pub const ANSWERS: usize = 4;

/// What an entry takes besides what it holds, in bytes: its place in the cache, its lists' own and what allocating rounds up.
const PLACE: usize = 400 + ANSWERS * size_of::<Made>();

/// Of all that an overview shows but time: two overviews of a user with the same one, between which nothing has expired
/// and no sender has another profile, are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Stamp {
    /// What was published on their channels is in their inbox up to here, and amended up to here.
    #[sea_orm(from_alias = "h_cursor_seq")]
    cursor: Seq,
    /// Of their inbox: what they or the sweep has changed since it arrived.
    #[sea_orm(from_alias = "h_user_version")]
    version: i64,
    /// Messages come without a sync, each newer than everything before.
    #[sea_orm(from_alias = "h_newest")]
    pub newest: Seq,
    #[sea_orm(from_alias = "h_texts")]
    texts: i64,
    #[sea_orm(from_alias = "h_version")]
    catalogue: i64,
}

/// An overview, and what it was made of.
#[derive(Debug)]
pub struct Entry {
    pub wish: Wish,
    pub stamp: Stamp,
    /// The instant by which it was decided what has expired.
    pub read_at: Millis,
    /// Who sent what it shows, each with the version of their profile.
    pub senders: Vec<(UserId, i64)>,
    /// With those of its types alone that hold anything.
    pub overview: Overview,
    /// That the overview is of.
    pub catalogue: Arc<Catalogue>,
    /// The end of the log up to which the inbox is known not to be behind.
    pub complete_upto: AtomicI64,
    /// What hung on the board when the database said last that it holds; nothing where there is no board.
    pub watch: Mutex<Option<Watch>>,
    /// Answers that were made of it alone, oldest first, with room for all.
    pub answers: Mutex<Vec<Made>>,
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
        let of = |entry: &Arc<Entry>| match entry.stamp.version - version {
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

    /// The last answer to a request of a user's, with what it was made of, where that is remembered.
    pub async fn answer(&self, user: UserId, request: i64) -> Option<(Arc<Entry>, Made)> {
        let entries = self.0.get(&user).await?;
        let made = |entry: &Arc<Entry>| {
            let made = entry.answers.lock().iter().find(|made| made.request == request).cloned()?;
            Some((entry.clone(), made))
        };
        entries.iter().find_map(made)
    }

    /// Remembers an answer to a user that was made of a reading, where that is remembered still.
    pub async fn answered(&self, user: UserId, reading: u64, made: Made) {
        let Some(entries) = self.0.get(&user).await else { return };
        let Some(entry) = entries.iter().find(|entry| entry.overview.reading == reading) else { return };
        entry.answered(made);
        // So that it is weighed again. Where others have put something newer there meanwhile, what is older is not taken for it.
        self.0.insert(user, entries).await;
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
        entry.senders.shrink_to_fit();
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
        let answered: usize = self.answers.lock().iter().map(Made::weight).sum();
        let own = size_of_val(self) + size_of_val(self.senders.as_slice());
        PLACE + own + wished.sum::<usize>() + held.sum::<usize>() + answered
    }

    fn answered(&self, made: Made) {
        let mut answers = self.answers.lock();
        answers.retain(|known| known.request != made.request);
        if answers.len() == ANSWERS {
            answers.remove(0);
        }
        answers.push(made);
    }

    /// What the user's marks make of it, under the next version of their row; nothing where that cannot be told.
    fn marked(&self, marks: &[Mark]) -> Option<Self> {
        let is_known = |mark: &Mark| mark.seq <= self.stamp.newest;
        let mut overview = self.overview.clone();
        if !marks.iter().all(|mark| is_known(mark) && overview.mark(mark, &self.wish, &self.catalogue)) {
            return None;
        }
        overview.reading = next_reading();
        Some(Self {
            wish: self.wish.clone(),
            stamp: Stamp { version: self.stamp.version + 1, ..self.stamp },
            read_at: self.read_at,
            senders: self.senders.clone(),
            overview,
            catalogue: self.catalogue.clone(),
            complete_upto: self.complete_upto().0.into(),
            // Nothing hung when it was made.
            watch: Mutex::default(),
            answers: Mutex::new(Vec::with_capacity(ANSWERS)),
        })
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

    /// As of which place in the log the overview is shown, where it still holds.
    pub fn at(&self, standing: &Standing, stamp: Stamp) -> Option<Seq> {
        // A log that ends before what was known of it is another one.
        if standing.is_behind() || stamp != self.stamp || standing.complete_upto() < self.complete_upto() {
            return None;
        }
        self.complete_upto.fetch_max(standing.complete_upto().0, Ordering::Relaxed);
        Some(standing.complete_upto())
    }

    /// The overview, as of a place in the log up to which the inbox is known not to be behind.
    pub fn shown(&self, cursor: Seq) -> Overview {
        let Overview { user, unread, unseen, views, cap, catalogue_version, reading, .. } = &self.overview;
        Overview {
            user: *user,
            unread: *unread,
            unseen: *unseen,
            views: views.clone(),
            cap: *cap,
            types: self.types(),
            cursor,
            catalogue_version: *catalogue_version,
            reading: *reading,
        }
    }

    /// The end of the log up to which the inbox is known not to be behind, as it is now.
    pub fn complete_upto(&self) -> Seq {
        Seq(self.complete_upto.load(Ordering::Relaxed))
    }
}

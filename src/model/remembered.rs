//! A few things that are remembered of each user; of users, those who ask least go first.

use std::hash::Hash;
use std::sync::Arc;

use entity::ids::UserId;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// What may be remembered of a user.
pub trait Remembered: Send + Sync + 'static {
    /// So many of a user, of which the oldest goes first.
    const MOST: usize;

    /// In bytes, with its place. What others remember too counts for each.
    fn weight(&self) -> usize;

    /// Whether it takes the place of another one.
    fn replaces(&self, other: &Self) -> bool;
}

/// An empty cache in so many parts, which is expected to hold so many things, and holds so much weight at the most.
pub fn cache<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone>(
    shards: usize,
    many: usize,
    weight: u64,
    weighter: W,
) -> Cache<K, V, W> {
    let mut options = OptionsBuilder::new();
    options.shards(shards).estimated_items_capacity(many).weight_capacity(weight);
    let options = options.build().expect("both capacities are said");
    Cache::with_options(options, weighter, DefaultHashBuilder::default(), DefaultLifecycle::default())
}

/// The most parts of the room, each of which users wait for alone. Of a user no more is remembered than one holds.
const SHARDS: u32 = 16;

/// What each has at least, in bytes, where there is more than one.
const SHARD: u32 = 1024 * 1024;

/// About what a user takes, in bytes.
const USER: u32 = 1024;

/// Of each user who has any.
#[derive(Debug)]
pub struct OfUsers<T: Remembered> {
    users: Cache<UserId, Arc<Known<T>>, ByBytes>,
    is_on: bool,
}

/// All that is remembered of a user, oldest first, and the bytes that it takes.
#[derive(Debug)]
struct Known<T> {
    all: Vec<Arc<T>>,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl<T> Weighter<UserId, Arc<Known<T>>> for ByBytes {
    fn weight(&self, _: &UserId, known: &Arc<Known<T>>) -> u64 {
        known.bytes
    }
}

impl<T: Remembered> OfUsers<T> {
    /// Of about so many bytes.
    pub fn new(bytes: u32) -> Self {
        let shards = (bytes / SHARD).clamp(1, SHARDS) as usize;
        Self { users: cache(shards, (bytes / USER) as usize, bytes.into(), ByBytes), is_on: bytes > 0 }
    }

    /// Whether anything is remembered at all.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// All of a user, oldest first.
    pub fn all(&self, user: UserId) -> Vec<Arc<T>> {
        self.users.get(&user).map(|known| known.all.clone()).unwrap_or_default()
    }

    /// The one of a user that is it.
    pub fn find(&self, user: UserId, is_it: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.users.get(&user)?.all.iter().find(|one| is_it(one)).cloned()
    }

    /// Remembers one more.
    pub fn keep(&self, user: UserId, one: T) {
        if !self.is_on {
            return;
        }
        let mut all = self.all(user);
        all.retain(|known| !one.replaces(known));
        if all.len() == T::MOST {
            all.remove(0);
        }
        all.push(Arc::new(one));
        self.put(user, all);
    }

    /// Remembers these and no others.
    pub fn put(&self, user: UserId, all: Vec<Arc<T>>) {
        if all.is_empty() {
            self.users.remove(&user);
            return;
        }
        let bytes: usize = all.iter().map(|one| one.weight()).sum();
        self.users.insert(user, Arc::new(Known { all, bytes: bytes as u64 }));
    }

    /// Spares the question whether those of users still hold, who are known to have changed.
    pub fn forget(&self, users: &[UserId]) {
        for user in users {
            self.users.remove(user);
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.users.clear();
    }

    /// Some of what is remembered, at most so many of it.
    pub fn some(&self, many: usize) -> Vec<Arc<T>> {
        self.users.iter().flat_map(|(_, known)| known.all.clone()).take(many).collect()
    }

    /// About how many bytes it takes, as it counts them.
    pub fn weight(&self) -> u64 {
        self.users.weight()
    }
}

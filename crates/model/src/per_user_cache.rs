//! Per-user caches with a bound on their memory. Users who ask least often are evicted first.

use std::hash::Hash;
use std::sync::Arc;

use entity::ids::UserId;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// A value cached per user.
pub trait CacheEntry: Send + Sync + 'static {
    /// Maximum values per user; the oldest is dropped first.
    const MOST: usize;

    /// Bytes with overhead. Shared data counts for each value.
    fn weight(&self) -> usize;

    /// Whether it replaces another value.
    fn replaces(&self, other: &Self) -> bool;
}

/// An empty cache with `shards` shards, an expected number of entries, and a maximum weight.
pub fn new_cache<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone>(
    shards: usize,
    many: usize,
    weight: u64,
    weighter: W,
) -> Cache<K, V, W> {
    let mut options = OptionsBuilder::new();
    options.shards(shards).estimated_items_capacity(many).weight_capacity(weight);
    let options = options.build().expect("both capacities are set");
    Cache::with_options(options, weighter, DefaultHashBuilder::default(), DefaultLifecycle::default())
}

/// Maximum shards; each has its own lock, and a user's values must fit into one.
const SHARDS: u32 = 16;

/// Minimum bytes per shard if there are several.
const SHARD: u32 = 1024 * 1024;

/// Expected bytes per user.
const USER: u32 = 1024;

/// A cache of values by user.
#[derive(Debug)]
pub struct PerUserCache<T: CacheEntry> {
    users: Cache<UserId, Arc<UserEntries<T>>, ByteWeighter>,
    is_on: bool,
}

/// The cached values of a user, oldest first, and their bytes.
#[derive(Debug)]
struct UserEntries<T> {
    all: Vec<Arc<T>>,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct ByteWeighter;

impl<T> Weighter<UserId, Arc<UserEntries<T>>> for ByteWeighter {
    fn weight(&self, _: &UserId, known: &Arc<UserEntries<T>>) -> u64 {
        known.bytes
    }
}

impl<T: CacheEntry> PerUserCache<T> {
    /// A cache of about this many bytes.
    pub fn new(bytes: u32) -> Self {
        let shards = (bytes / SHARD).clamp(1, SHARDS) as usize;
        Self { users: new_cache(shards, (bytes / USER) as usize, bytes.into(), ByteWeighter), is_on: bytes > 0 }
    }

    /// Whether the cache is enabled.
    pub fn is_enabled(&self) -> bool {
        self.is_on
    }

    /// All values of a user, oldest first.
    pub fn all(&self, user: UserId) -> Vec<Arc<T>> {
        self.users.get(&user).map(|known| known.all.clone()).unwrap_or_default()
    }

    /// The value of a user that fits the predicate.
    pub fn find(&self, user: UserId, is_it: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.users.get(&user)?.all.iter().find(|one| is_it(one)).cloned()
    }

    /// Adds a value.
    pub fn insert(&self, user: UserId, one: T) {
        if !self.is_on {
            return;
        }
        let mut all = self.all(user);
        all.retain(|known| !one.replaces(known));
        if all.len() == T::MOST {
            all.remove(0);
        }
        all.push(Arc::new(one));
        self.replace_all(user, all);
    }

    /// Replaces all values of a user.
    pub fn replace_all(&self, user: UserId, all: Vec<Arc<T>>) {
        if all.is_empty() {
            self.users.remove(&user);
            return;
        }
        let bytes: usize = all.iter().map(|one| one.weight()).sum();
        self.users.insert(user, Arc::new(UserEntries { all, bytes: bytes as u64 }));
    }

    /// Drops the values of users who are known to have changed, which saves a validation.
    pub fn remove_users(&self, users: &[UserId]) {
        for user in users {
            self.users.remove(user);
        }
    }

    /// Empties the cache.
    pub fn clear(&self) {
        self.users.clear();
    }

    /// Any cached values, at most `many`.
    pub fn sample(&self, many: usize) -> Vec<Arc<T>> {
        self.users.iter().flat_map(|(_, known)| known.all.clone()).take(many).collect()
    }

    /// Approximate bytes of the cache.
    pub fn weight(&self) -> u64 {
        self.users.weight()
    }
}

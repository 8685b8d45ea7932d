//! Caches of data that is read by most requests.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::{ActionId, TenantId, UserId};
use parking_lot::Mutex;
use quick_cache::UnitWeighter;
use quick_cache::sync::Cache;

use base::clock::Millis;
use base::config::ServerConfig;
use model::catalogue::Catalogue;
use model::notification_cache::NotificationCache;
use model::overview::{AppliedMark, OverviewCache};
use model::per_user_cache::new_cache;
use model::response_cache::ResponseCache;
use model::tenant::Tenant;

/// Data that most requests need and that hardly ever changes. All of it may be dropped at any time.
#[derive(Debug)]
pub struct Caches {
    /// Tenants by code, with the time of the lookup. A tenant never changes, but the database may have been replaced.
    pub tenants: Cache<String, (Instant, Arc<Tenant>)>,
    /// Every statement that relies on a catalogue compares its version with the tenant's.
    pub catalogues: Cache<TenantId, Arc<Catalogue>>,
    /// User ids by the backend's id and the tenant's count of erased users at, or before, the lookup. A user's id never
    /// changes until the user is erased. Kept for a minute, or 15 with Redis invalidation: another node may not know of
    /// an erasure for as long.
    pub users: ExpiringCache<(TenantId, i64, String), UserId>,
    /// Actions by code, with the time when they were last marked as used. For an hour from then on an action's id never
    /// changes, unless the database is restored from before the action was created. Kept for a minute.
    pub actions: ExpiringCache<(TenantId, String), (ActionId, Millis)>,
    /// Checked by each statement that names them.
    pub contents: NotificationCache,
    /// Checked before each use, against Redis or the database.
    pub overviews: OverviewCache,
    /// Checked in the same way.
    pub answers: ResponseCache,
    /// When tenants tested webhook endpoints on this node in the last minute, including deleted endpoints.
    pub pings: Mutex<HashMap<TenantId, Vec<Millis>>>,
}

/// How long another node may still take an erased user for a user, where it only reads.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// The same with Redis invalidation, which covers each user. Finding a user erased updates the count of erasures.
const KNOWN_FOR: Duration = Duration::from_mins(15);

impl Caches {
    /// Empty caches.
    pub fn new(config: &ServerConfig) -> Self {
        // With Redis, a cached overview costs no statement, so looking up its user should cost none either.
        let known_for = if config.board { KNOWN_FOR } else { FORGOTTEN_AFTER };
        Self {
            tenants: bounded_cache(10_000),
            catalogues: bounded_cache(10_000),
            users: ExpiringCache::new(200_000, known_for),
            actions: ExpiringCache::new(100_000, FORGOTTEN_AFTER),
            contents: NotificationCache::new(config.limits.cached_content_bytes as usize),
            overviews: OverviewCache::new(config.limits.cached_overview_bytes),
            answers: ResponseCache::new(config.limits.cached_overview_bytes),
            pings: Mutex::default(),
        }
    }

    /// Empties all caches.
    pub fn clear(&self) {
        self.tenants.clear();
        self.catalogues.clear();
        self.users.known.clear();
        self.actions.known.clear();
        self.contents.clear();
        self.overviews.clear();
        self.answers.clear();
    }

    /// Whether a tenant that was looked up at this time is still current.
    pub fn is_tenant_current(looked_up_at: Instant) -> bool {
        looked_up_at.elapsed() < FORGOTTEN_AFTER
    }

    /// Removes expired entries.
    pub fn remove_expired(&self) {
        self.users.remove_expired();
        self.actions.remove_expired();
    }

    /// Drops the entries of users that are known to have changed, and so saves their validation.
    pub fn invalidate_users(&self, users: &[UserId]) {
        self.overviews.remove_users(users);
        self.answers.remove_users(users);
    }

    /// Applies a user's marks to the user's cached overviews. Nothing else changed with this version of the user.
    pub fn apply_marks(&self, user: UserId, version: i64, marks: &[AppliedMark]) {
        self.overviews.apply_marks(user, version, marks);
        if !marks.is_empty() {
            self.answers.remove_users(&[user]);
        }
    }
}

/// Shards of a cache, each with its own lock.
const SHARDS: usize = 16;

/// An empty cache for about this many entries.
fn bounded_cache<K: Eq + Hash, V: Clone>(many: usize) -> Cache<K, V> {
    new_cache(SHARDS, many, many as u64, UnitWeighter)
}

/// A bounded cache with entries that expire. When it is full, it keeps the entries used last.
#[derive(Debug)]
pub struct ExpiringCache<K, V> {
    known: Cache<K, (Instant, V)>,
    good_for: Duration,
}

impl<K: Eq + Hash, V: Clone> ExpiringCache<K, V> {
    /// An empty cache for about `many` entries.
    pub fn new(many: usize, good_for: Duration) -> Self {
        Self { known: bounded_cache(many), good_for }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        let (found_at, value) = self.known.get(key)?;
        (found_at.elapsed() < self.good_for).then_some(value)
    }

    pub fn insert(&self, key: K, value: V) {
        self.known.insert(key, (Instant::now(), value));
    }

    fn remove_expired(&self) {
        self.known.retain(|_, (found_at, _)| found_at.elapsed() < self.good_for);
    }
}

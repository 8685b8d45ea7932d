//! What need not be read again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::{ActionId, TenantId, UserId};
use parking_lot::Mutex;
use quick_cache::UnitWeighter;
use quick_cache::sync::Cache;

use crate::clock::Millis;
use crate::config::Config;
use crate::model::answer::Answers;
use crate::model::catalogue::Catalogue;
use crate::model::contents::Contents;
use crate::model::overview::{Mark, Memory};
use crate::model::remembered::cache;
use crate::model::tenant::Tenant;

/// What every request needs and hardly ever changes. All of it may be forgotten at any time.
#[derive(Debug)]
pub struct Caches {
    /// By code, with when they were looked up. A tenant never changes, but the database may be another one by now.
    pub tenants: Cache<String, (Instant, Arc<Tenant>)>,
    /// Checked against the tenant's version by every statement that relies on it.
    pub catalogues: Cache<TenantId, Arc<Catalogue>>,
    /// By the partner's id and how many users the tenant had erased when, or before, this one was looked up: a user's number
    /// never changes while they are one. Kept for a minute, in which an erasure on another node may not be known here.
    pub users: Lately<(TenantId, i64, String), UserId>,
    /// By code, with when it was said to be in use: for an hour from then on an action's number never changes, unless the database
    /// is restored from before it was made. Kept for a minute.
    pub actions: Lately<(TenantId, String), (ActionId, Millis)>,
    /// Checked by each statement that names them.
    pub contents: Contents,
    /// Checked by the database before each use.
    pub overviews: Memory,
    /// The same.
    pub answers: Answers,
    /// When tenants have tried webhook endpoints by this node in the last minute, also such as are gone by now.
    pub pings: Mutex<HashMap<TenantId, Vec<Millis>>>,
}

/// How long another node may take somebody who was erased for a user, where it does nothing about them but read.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// The same where there is a board, which is asked of each user. Whoever finds somebody gone notices how many were erased.
const KNOWN_FOR: Duration = Duration::from_mins(15);

impl Caches {
    /// Empty ones.
    pub fn new(config: &Config) -> Self {
        // An overview that nobody asks the database for is to be without a statement for whom it is, too.
        let known_for = if config.board { KNOWN_FOR } else { FORGOTTEN_AFTER };
        Self {
            tenants: most(10_000),
            catalogues: most(10_000),
            users: Lately::new(200_000, known_for),
            actions: Lately::new(100_000, FORGOTTEN_AFTER),
            contents: Contents::new(config.limits.cached_content_bytes as usize),
            overviews: Memory::new(config.limits.cached_overview_bytes),
            answers: Answers::new(config.limits.cached_overview_bytes),
            pings: Mutex::default(),
        }
    }

    /// Forgets all of it.
    pub fn clear(&self) {
        self.tenants.clear();
        self.catalogues.clear();
        self.users.known.clear();
        self.actions.known.clear();
        self.contents.clear();
        self.overviews.clear();
        self.answers.clear();
    }

    /// Whether a tenant that was looked up then need not be looked up again.
    pub fn is_known(looked_up_at: Instant) -> bool {
        looked_up_at.elapsed() < FORGOTTEN_AFTER
    }

    /// Makes room of what counts no more.
    pub fn forget_old(&self) {
        self.users.forget_old();
        self.actions.forget_old();
    }

    /// Spares the question whether what is remembered of users still holds, who are known to have changed.
    pub fn forget(&self, users: &[UserId]) {
        self.overviews.forget(users);
        self.answers.forget(users);
    }

    /// Brings what is remembered of a user to what their marks have made of it, which are all that is new under a version.
    pub fn marked(&self, user: UserId, version: i64, marks: &[Mark]) {
        self.overviews.marked(user, version, marks);
        if !marks.is_empty() {
            self.answers.forget(&[user]);
        }
    }
}

/// Parts of a cache, each of which requests wait for alone.
const SHARDS: usize = 16;

/// An empty cache of about so many.
fn most<K: Eq + Hash, V: Clone>(many: usize) -> Cache<K, V> {
    cache(SHARDS, many, many as u64, UnitWeighter)
}

/// What was found out lately: each thing for so long, and of them as many as were asked for last.
#[derive(Debug)]
pub struct Lately<K, V> {
    known: Cache<K, (Instant, V)>,
    good_for: Duration,
}

impl<K: Eq + Hash, V: Clone> Lately<K, V> {
    /// Nothing yet.
    pub fn new(many: usize, good_for: Duration) -> Self {
        Self { known: most(many), good_for }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        let (found_at, value) = self.known.get(key)?;
        (found_at.elapsed() < self.good_for).then_some(value)
    }

    pub fn insert(&self, key: K, value: V) {
        self.known.insert(key, (Instant::now(), value));
    }

    fn forget_old(&self) {
        self.known.retain(|_, (found_at, _)| found_at.elapsed() < self.good_for);
    }
}

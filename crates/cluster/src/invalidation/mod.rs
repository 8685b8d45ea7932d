//! Invalidation tokens in Redis. With them the server returns cached overviews without a statement on the database.
//!
//! Redis may lose a token at any time. A reader registers tokens under the keys that its overview depends on, and then
//! reads the database. A commit deletes the tokens under the keys that it changes before it is acknowledged. So while
//! the same tokens are present, no acknowledged change has touched the overview. A missing token, for any reason, only
//! means to read the database again, so there is nothing to count or compare.
//!
//! Redis cannot know that a node failed to reach it, that it lags behind, or that it was replaced. The [`Epoch`] covers
//! these cases.

mod connection;
mod epoch;
mod key;

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep_until, timeout, timeout_at};

use crate::hub::Notice;
use base::error::{Error, Result};
use base::telemetry::metrics::Metrics;
use connection::RedisConnection;
pub use connection::describe_redis;
pub use epoch::{Epoch, EpochState, EpochTimings};
use key::invalidated_keys;
pub use key::{InvalidationKey, InvalidationToken, channel_share};

/// How long a reader waits for Redis before it reads the database.
const READ: Duration = Duration::from_millis(200);

/// How long a commit waits for Redis before it starts a new epoch.
const PUSH: Duration = Duration::from_millis(500);

/// How long a commit waits until no node trusts the old tokens.
const PATIENCE: Duration = Duration::from_secs(10);

/// A node's access to the tokens.
pub struct InvalidationStore {
    url: String,
    /// The beginning of all keys of this database.
    prefix: String,
    pub pace: EpochTimings,
    /// `None` until this node has started an epoch.
    known: Mutex<Option<EpochState>>,
    link: Mutex<Option<RedisConnection>>,
    /// How often an invalidation failed.
    failures: AtomicU64,
    wanted: Notify,
    changed: watch::Sender<()>,
    trusted: Gauge,
    push_time: Histogram,
}

/// The tokens read from Redis at some moment.
#[derive(Clone, Debug, Default)]
pub struct TokenSnapshot(HashMap<InvalidationKey, InvalidationToken>);

impl TokenSnapshot {
    pub fn get(&self, place: InvalidationKey) -> Option<InvalidationToken> {
        self.0.get(&place).copied()
    }

    /// Adds tokens that were read a little later; they replace the earlier ones.
    pub fn add(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

impl Debug for InvalidationStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the Redis invalidation in {:?}", self.known.lock().as_ref().map(|known| &known.epoch))
    }
}

impl InvalidationStore {
    /// For the Redis at a URL and the database of this name. Does not connect yet.
    pub fn new(url: String, database: &str, pace: EpochTimings, metrics: &Metrics) -> Self {
        Self {
            url,
            prefix: format!("tidings:{database}:board:"),
            pace,
            known: Mutex::default(),
            link: Mutex::default(),
            failures: AtomicU64::new(0),
            wanted: Notify::new(),
            changed: watch::Sender::default(),
            trusted: metrics.board_trusted.clone(),
            push_time: metrics.board_push_time.clone(),
        }
    }

    /// The tokens at these places, with the tenant's first. `None` if the tokens cannot be trusted.
    pub async fn get_tokens(&self, places: &[InvalidationKey]) -> Option<TokenSnapshot> {
        self.request_tokens(places, |mut link, keys| async move { link.get_tokens(&keys).await }).await
    }

    /// Registers a token at each place that has none, and returns all of them. `None` if they cannot be trusted. A
    /// later read of the database stays valid while these tokens are present.
    pub async fn register_tokens(&self, places: &[InvalidationKey]) -> Option<TokenSnapshot> {
        let mut token = [0; 8];
        getrandom::fill(&mut token).ok()?;
        let token = InvalidationToken::from_be_bytes(token);
        self.request_tokens(places, |mut link, keys| async move { link.register_tokens(&keys, token).await }).await
    }

    async fn request_tokens<F>(
        &self,
        places: &[InvalidationKey],
        asking: impl FnOnce(RedisConnection, Vec<String>) -> F,
    ) -> Option<TokenSnapshot>
    where
        F: Future<Output = Result<Vec<Option<InvalidationToken>>>>,
    {
        let (epoch, link) = self.trusted_connection()?;
        let prefix = self.key_prefix(&epoch);
        let keys = places.iter().map(|place| place.redis_key(&prefix)).collect();
        let run = link.run.clone();
        let Ok(Ok(found)) = timeout(READ, asking(link, keys)).await else {
            self.drop_connection(&run);
            return None;
        };
        // The epoch may have changed while Redis answered.
        let (still, _) = self.trusted_connection().filter(|_| found.len() == places.len())?;
        let all = places.iter().zip(found).filter_map(|(place, token)| Some((*place, token?)));
        (still == epoch).then(|| TokenSnapshot(all.collect()))
    }

    /// Whether this node trusts the tokens.
    pub fn is_trusted(&self) -> bool {
        self.trusted_connection().is_some()
    }

    fn trusted_connection(&self) -> Option<(Epoch, RedisConnection)> {
        let link = self.link.lock().clone()?;
        let known = self.known.lock();
        let known = known.as_ref().filter(|known| known.is_trusted(Instant::now()))?;
        (known.epoch.run.as_ref() == Some(&link.run)).then(|| (known.epoch.clone(), link))
    }

    fn key_prefix(&self, epoch: &Epoch) -> String {
        format!("{}{}:", self.prefix, epoch.name)
    }

    /// Deletes the tokens at the places that a commit concerns. On return no node trusts them: if Redis did not delete
    /// them, a new epoch has started. Returns `false` if that failed too; the commit must then not be acknowledged.
    pub async fn invalidate(&self, notices: &[Notice]) -> bool {
        let places: BTreeSet<InvalidationKey> = notices.iter().flat_map(invalidated_keys).collect();
        if places.is_empty() {
            return true;
        }
        let began = Instant::now();
        let taken = timeout(PATIENCE, self.invalidate_keys(&places)).await.is_ok();
        self.push_time.observe(began.elapsed().as_secs_f64());
        taken
    }

    async fn invalidate_keys(&self, places: &BTreeSet<InvalidationKey>) {
        let mut changes = self.changed.subscribe();
        loop {
            changes.mark_unchanged();
            let (known, now) = (self.known.lock().clone(), Instant::now());
            match known {
                Some(known) if known.is_closed(now) => return,
                Some(known) if now < known.closed_from() => {
                    // Later than that, if another epoch starts meanwhile.
                    sleep_until(known.closed_from().into()).await;
                    continue;
                }
                Some(known) if known.is_recent(now) => {
                    if self.delete_tokens(&known.epoch, places).await {
                        return;
                    }
                    self.failures.fetch_add(1, Ordering::SeqCst);
                }
                _ => {}
            }
            self.wanted.notify_one();
            let _ = timeout_at((Instant::now() + self.pace.trust).into(), changes.changed()).await;
        }
    }

    /// Whether Redis deleted the tokens, and is the run of this epoch.
    async fn delete_tokens(&self, epoch: &Epoch, places: &BTreeSet<InvalidationKey>) -> bool {
        let link = self.link.lock().clone().filter(|link| epoch.run.as_ref() == Some(&link.run));
        let Some(mut link) = link else { return false };
        let prefix = self.key_prefix(epoch);
        let keys: Vec<String> = places.iter().map(|place| place.redis_key(&prefix)).collect();
        let is_taken = matches!(timeout(PUSH, link.delete_tokens(&keys)).await, Ok(Ok(())));
        if !is_taken {
            self.drop_connection(&link.run);
        }
        is_taken
    }

    /// Drops a connection that does not work, so that no other request waits for it.
    fn drop_connection(&self, run: &Arc<str>) {
        if self.link.lock().take_if(|link| link.run == *run).is_some() {
            tracing::warn!("Redis does not answer in time: cached overviews are checked against the database");
            self.trusted.set(0);
        }
        self.wanted.notify_one();
    }

    /// Waits until it is time to read the epoch again.
    pub async fn wait_until_due(&self) {
        let _ = timeout(self.pace.read_interval(), self.wanted.notified()).await;
    }

    /// Trusts no token until this node has started a new epoch, because its database was replaced.
    pub fn forget_epoch(&self) {
        *self.known.lock() = None;
        self.trusted.set(0);
        self.wanted.notify_one();
        self.changed.send_replace(());
    }

    /// How often an invalidation failed.
    pub fn failure_count(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// The run of the reachable Redis, if any. Connects if there is no connection.
    pub async fn reachable_run(&self) -> Option<Arc<str>> {
        let link = self.link.lock().clone();
        if let Some(mut link) = link {
            match timeout(PUSH, link.check_run()).await {
                Ok(Ok(())) => return Some(link.run),
                _ => self.drop_connection(&link.run),
            }
        }
        let link = timeout(self.pace.read_interval(), RedisConnection::open(&self.url))
            .await
            .map_err(|_| Error::database_busy());
        let link = link.and_then(|opened| opened);
        let link = link.inspect_err(|error| tracing::debug!(%error, "Redis cannot be reached")).ok()?;
        Some(self.link.lock().insert(link).run.clone())
    }

    /// The Redis run that the current epoch belongs to, if known.
    pub fn epoch_run(&self) -> Option<Arc<str>> {
        self.known.lock().as_ref().and_then(|known| known.epoch.run.clone())
    }

    /// Notes that the database held an epoch between two instants.
    pub fn observe_epoch(&self, epoch: Epoch, between: (Instant, Instant)) {
        {
            let mut known = self.known.lock();
            match &mut *known {
                Some(known) => known.observe_epoch(epoch, between),
                // Another node may have started it just now. This node starts one of its own first.
                None => return,
            }
        }
        self.trusted.set(i64::from(self.is_trusted()));
        self.changed.send_replace(());
    }

    /// Notes that this node started an epoch between two instants.
    pub fn observe_started_epoch(&self, epoch: Epoch, between: (Instant, Instant)) {
        let mut known = self.known.lock();
        match &mut *known {
            Some(known) => known.observe_epoch(epoch, between),
            None => *known = Some(EpochState::for_started_epoch(self.pace, epoch, between)),
        }
        drop(known);
        self.trusted.set(0);
        self.changed.send_replace(());
    }
}

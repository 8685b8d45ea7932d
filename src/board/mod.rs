//! The board: what hangs there says that nothing has changed. With it overviews that are remembered are served without asking the
//! database.
//!
//! It is a Redis that may lose anything at any time. Who wants to know later whether something has changed hangs a token up at the
//! places that it depends on, and then asks the database. Whoever commits a change takes down what hangs at its places, before they
//! acknowledge it. So where the same tokens still hang, nothing has changed that anybody was told of. There is nothing to count and
//! nothing that could be compared wrongly: a token that is gone, for whatever reason, means to ask again.
//!
//! What a Redis cannot know, that it was left out, or lags behind, or is another one by now, is the matter of its [`Epoch`].

mod epoch;
mod link;
mod place;

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

use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::telemetry::metrics::Metrics;
use link::Link;
use place::concerned;

pub use epoch::{Epoch, Known, Pace};
pub use link::examine;
pub use place::{Place, Token, share};

/// How long a reader waits for Redis. They ask the database then.
const READ: Duration = Duration::from_millis(200);

/// How long whoever commits waits for Redis. They raise the epoch then.
const PUSH: Duration = Duration::from_millis(500);

/// How long a commit waits for nobody to believe the board any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// A node's end of it.
pub struct Board {
    url: String,
    /// What the keys of this database begin with.
    prefix: String,
    pub pace: Pace,
    /// What is known of the epoch; nothing until it was read.
    known: Mutex<Option<Known>>,
    link: Mutex<Option<Link>>,
    /// How often something could not be taken down.
    failures: AtomicU64,
    wanted: Notify,
    changed: watch::Sender<()>,
    trusted: Gauge,
    push_time: Histogram,
}

/// What hung at places, at some moment.
#[derive(Clone, Debug, Default)]
pub struct Tokens(HashMap<Place, Token>);

impl Tokens {
    pub fn at(&self, place: Place) -> Option<Token> {
        self.0.get(&place).copied()
    }

    /// Takes what hung there a little later for what hangs there, where both are known.
    pub fn add(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

impl Debug for Board {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the board in {:?}", self.known.lock().as_ref().map(|known| &known.epoch))
    }
}

impl Board {
    /// On the Redis at a URL, for the database that calls itself so. Not connected yet.
    pub fn new(url: String, database: &str, pace: Pace, metrics: &Metrics) -> Self {
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

    /// What hangs at places, the tenant's first among them; nothing where the board is not to be believed.
    pub async fn tokens(&self, places: &[Place]) -> Option<Tokens> {
        self.ask(places, |mut link, keys| async move { link.tokens(&keys).await }).await
    }

    /// What hangs at places, once something does; nothing where the board is not to be believed. What the database says
    /// afterwards holds for as long as that hangs.
    pub async fn hang(&self, places: &[Place]) -> Option<Tokens> {
        let mut token = [0; 8];
        getrandom::fill(&mut token).ok()?;
        let token = Token::from_be_bytes(token);
        self.ask(places, |mut link, keys| async move { link.hang(&keys, token).await }).await
    }

    async fn ask<F>(&self, places: &[Place], asking: impl FnOnce(Link, Vec<String>) -> F) -> Option<Tokens>
    where
        F: Future<Output = Result<Vec<Option<Token>>>>,
    {
        let (epoch, link) = self.trusted()?;
        let prefix = self.prefix_of(&epoch);
        let keys = places.iter().map(|place| place.key(&prefix)).collect();
        let run = link.run.clone();
        let Ok(Ok(found)) = timeout(READ, asking(link, keys)).await else {
            self.lose(&run);
            return None;
        };
        // What was believed when it was asked may not be any more when it is answered.
        let (still, _) = self.trusted().filter(|_| found.len() == places.len())?;
        let all = places.iter().zip(found).filter_map(|(place, token)| Some((*place, token?)));
        (still == epoch).then(|| Tokens(all.collect()))
    }

    /// Whether what hangs on it is believed.
    pub fn is_trusted(&self) -> bool {
        self.trusted().is_some()
    }

    fn trusted(&self) -> Option<(Epoch, Link)> {
        let link = self.link.lock().clone()?;
        let known = self.known.lock();
        let known = known.as_ref().filter(|known| known.is_trusted(Instant::now()))?;
        (known.epoch.run.as_ref() == Some(&link.run)).then(|| (known.epoch.clone(), link))
    }

    fn prefix_of(&self, epoch: &Epoch) -> String {
        format!("{}{}:", self.prefix, epoch.name)
    }

    /// Takes down what hangs at the places of which a commit tells. When this returns, no node believes any of it: where that is not
    /// to be had from Redis, the epoch has been raised. False where that cannot be either, so that nothing must be acknowledged.
    pub async fn take_down(&self, notices: &[Notice]) -> bool {
        let places: BTreeSet<Place> = notices.iter().flat_map(concerned).collect();
        if places.is_empty() {
            return true;
        }
        let began = Instant::now();
        let taken = timeout(PATIENCE, self.taken_down(&places)).await.is_ok();
        self.push_time.observe(began.elapsed().as_secs_f64());
        taken
    }

    async fn taken_down(&self, places: &BTreeSet<Place>) {
        let mut changes = self.changed.subscribe();
        loop {
            changes.mark_unchanged();
            let (known, now) = (self.known.lock().clone(), Instant::now());
            match known {
                Some(known) if known.is_closed(now) => return,
                Some(known) if now < known.closed_from() => {
                    // Later by then, if the epoch is raised once more.
                    sleep_until(known.closed_from().into()).await;
                    continue;
                }
                Some(known) if known.is_fresh(now) => {
                    if self.taken_from(&known.epoch, places).await {
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

    /// Whether Redis has taken them down, and is the one of the epoch.
    async fn taken_from(&self, epoch: &Epoch, places: &BTreeSet<Place>) -> bool {
        let link = self.link.lock().clone().filter(|link| epoch.run.as_ref() == Some(&link.run));
        let Some(mut link) = link else { return false };
        let prefix = self.prefix_of(epoch);
        let keys: Vec<String> = places.iter().map(|place| place.key(&prefix)).collect();
        let is_taken = matches!(timeout(PUSH, link.take_down(&keys)).await, Ok(Ok(())));
        if !is_taken {
            self.lose(&link.run);
        }
        is_taken
    }

    /// Lets a connection go that does not do what it should, so that nobody else waits for it.
    fn lose(&self, run: &Arc<str>) {
        if self.link.lock().take_if(|link| link.run == *run).is_some() {
            tracing::warn!("Redis does not answer in time: overviews are asked of the database");
            self.trusted.set(0);
        }
        self.wanted.notify_one();
    }

    /// Waits until it is time to look at the epoch again.
    pub async fn due(&self) {
        let _ = timeout(self.pace.look(), self.wanted.notified()).await;
    }

    /// Believes nothing that hangs there until this node has raised the epoch: the database that it was agreed on in is another one.
    pub fn forget(&self) {
        *self.known.lock() = None;
        self.trusted.set(0);
        self.wanted.notify_one();
        self.changed.send_replace(());
    }

    /// How often something could not be taken down.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// The run of the Redis that can be reached, if one can; connects where there is no connection.
    pub async fn reached(&self) -> Option<Arc<str>> {
        let link = self.link.lock().clone();
        if let Some(mut link) = link {
            match timeout(PUSH, link.holds()).await {
                Ok(Ok(())) => return Some(link.run),
                _ => self.lose(&link.run),
            }
        }
        let link = timeout(self.pace.look(), Link::open(&self.url)).await.map_err(|_| Error::busy());
        let link = link.and_then(|opened| opened);
        let link = link.inspect_err(|error| tracing::debug!(%error, "Redis cannot be reached")).ok()?;
        Some(self.link.lock().insert(link).run.clone())
    }

    /// Of which run of Redis the epoch is, as far as it is known.
    pub fn run(&self) -> Option<Arc<str>> {
        self.known.lock().as_ref().and_then(|known| known.epoch.run.clone())
    }

    /// Notes that the database had an epoch between two instants.
    pub fn note(&self, epoch: Epoch, between: (Instant, Instant)) {
        {
            let mut known = self.known.lock();
            match &mut *known {
                Some(known) => known.note(epoch, between),
                // Somebody has raised it who is not this node: it may be of a moment ago.
                None => return,
            }
        }
        self.trusted.set(i64::from(self.is_trusted()));
        self.changed.send_replace(());
    }

    /// Notes that this node has raised the epoch between two instants.
    pub fn raised(&self, epoch: Epoch, between: (Instant, Instant)) {
        let mut known = self.known.lock();
        match &mut *known {
            Some(known) => known.note(epoch, between),
            None => *known = Some(Known::raised(self.pace, epoch, between)),
        }
        drop(known);
        self.trusted.set(0);
        self.changed.send_replace(());
    }
}

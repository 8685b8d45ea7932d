//! How many bytes of events a user may be sent, over all of their subscriptions together.
//!
//! A user who is past that is not cut off: their subscriptions take nothing more out of their mailboxes until there is room again. So
//! overviews and views merge meanwhile, and a subscription to items that falls too far behind ends as a slow reader does, to be resumed
//! from its last cursor. Nothing is lost, and other users do not wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use entity::ids::UserId;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::app::App;
use crate::graphql::admission::{Allowance, Bucket};

/// What an event costs at least: it takes work, however short it is.
const EVENT_BYTES: usize = 1024;

/// What an item costs that is read from the database for a resume, besides what its event costs.
const ITEM_BYTES: usize = 1024;

/// What reading a part of the missed items costs, also where it is empty.
const PAGE_BYTES: usize = 16 * 1024;

/// What a field of an event may take: as much as the longest body.
const FIELD_BYTES: usize = 16 * 1024;

/// The longest time until a subscription looks again whether there is room.
const LOOK: Duration = Duration::from_secs(1);

/// Users above which those that have spent nothing lately are forgotten.
const USERS: usize = 1024;

/// What all users have spent.
#[derive(Debug)]
pub struct Spendings {
    of: Allowance,
    largest: usize,
    users: Mutex<(HashMap<UserId, Arc<Spending>>, usize)>,
}

/// What a user has spent.
#[derive(Debug)]
pub struct Spending {
    app: Arc<App>,
    of: Allowance,
    /// So that nothing but this is looked at while there is room.
    is_over: AtomicBool,
    bucket: Mutex<Bucket>,
}

impl Spendings {
    /// As the settings allow.
    pub fn new(app: &App) -> Self {
        let limits = &app.config.limits;
        let of = Allowance::a_minute(limits.event_bytes);
        Self { of, largest: limits.answer_bytes, users: Mutex::new((HashMap::new(), USERS)) }
    }

    /// What a user has spent. `None` if there is no limit.
    pub fn of(&self, app: &Arc<App>, user: UserId) -> Option<Arc<Spending>> {
        if self.of.many == 0 {
            return None;
        }
        let mut users = self.users.lock();
        let (known, room) = &mut *users;
        if let Some(spending) = known.get(&user) {
            return Some(spending.clone());
        }
        if known.len() >= *room {
            // A client that comes back finds what it has spent before.
            known.retain(|_, of| Arc::strong_count(of) > 1 || !of.is_full());
            known.shrink_to_fit();
            *room = USERS.max(2 * known.len());
        }
        let bucket = Mutex::new(Bucket::full(self.of, app.now()));
        let spending = Arc::new(Spending { app: app.clone(), of: self.of, is_over: AtomicBool::new(false), bucket });
        known.insert(user, spending.clone());
        Some(spending)
    }

    /// The most that an event with so many fields may take.
    pub fn estimate(&self, fields: usize) -> usize {
        fields.saturating_mul(FIELD_BYTES).clamp(EVENT_BYTES, self.largest.max(EVENT_BYTES))
    }
}

impl Spending {
    /// Whether nothing more may be sent now.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed) && self.missing() > 0
    }

    /// Waits until something may be sent again.
    pub async fn recovered(&self) {
        self.app.metrics.events_slowed.inc();
        loop {
            let missing = self.missing();
            if missing == 0 {
                return;
            }
            sleep(Duration::from_secs(self.of.seconds(missing)).min(LOOK)).await;
        }
    }

    /// An event of so many bytes is sent.
    pub fn event(&self, bytes: usize) {
        self.change(units(bytes.max(EVENT_BYTES)));
    }

    /// So much may be needed for an event that is about to be made.
    pub fn reserve(&self, bytes: usize) {
        self.change(units(bytes));
    }

    /// It was made of so many bytes.
    pub fn settle(&self, reserved: usize, bytes: usize) {
        self.change(units(bytes.max(EVENT_BYTES)) - units(reserved));
    }

    /// So much was read of what was missed.
    pub fn missed(&self, pages: usize, items: usize) {
        self.change(units(pages * PAGE_BYTES + items * ITEM_BYTES));
    }

    fn change(&self, bytes: i64) {
        let is_over = self.bucket.lock().spend(self.of, bytes, self.app.now()) > 0;
        self.is_over.store(is_over, Relaxed);
    }

    fn missing(&self) -> i64 {
        let missing = self.bucket.lock().spend(self.of, 0, self.app.now());
        self.is_over.store(missing > 0, Relaxed);
        missing
    }

    fn is_full(&self) -> bool {
        self.bucket.lock().is_full(self.of, self.app.now())
    }
}

fn units(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

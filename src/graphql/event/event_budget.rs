//! The limit of event bytes per user, over all subscriptions of the user together.
//!
//! A user beyond the limit is not disconnected: the user's subscriptions stop taking events from their mailboxes until
//! there is room again. Meanwhile overviews and views merge, and a subscription to items that falls too far behind ends
//! as for a slow reader, to be resumed from its last cursor. Nothing is lost, and other users do not wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use entity::ids::UserId;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::app::App;
use crate::graphql::admission::{RateLimit, TokenBucket};

/// Minimum cost of an event: even a short one takes work.
const EVENT_BYTES: usize = 1024;

/// Cost of an item that is read from the database for a resume, besides the cost of its event.
const ITEM_BYTES: usize = 1024;

/// Cost of reading a page of missed items, even an empty one.
const PAGE_BYTES: usize = 16 * 1024;

/// Estimate for a field of an event: as much as the longest body.
const FIELD_BYTES: usize = 16 * 1024;

/// Longest pause before a subscription checks again whether there is room.
const LOOK: Duration = Duration::from_secs(1);

/// Number of users from which full buckets without subscriptions are dropped.
const USERS: usize = 1024;

/// The spending of all users.
#[derive(Debug)]
pub struct EventBudgets {
    of: RateLimit,
    largest: usize,
    users: Mutex<(HashMap<UserId, Arc<EventBudget>>, usize)>,
}

/// The spending of one user.
#[derive(Debug)]
pub struct EventBudget {
    app: Arc<App>,
    of: RateLimit,
    /// Whether the bucket lacked bytes at the last look. While there is room, only this is read.
    is_over: AtomicBool,
    bucket: Mutex<TokenBucket>,
}

impl EventBudgets {
    /// With the configured limits.
    pub fn new(app: &App) -> Self {
        let limits = &app.config.limits;
        let of = RateLimit::per_minute(limits.event_bytes);
        Self { of, largest: limits.answer_bytes, users: Mutex::new((HashMap::new(), USERS)) }
    }

    /// The spending of a user; `None` if there is no limit.
    pub fn for_user(&self, app: &Arc<App>, user: UserId) -> Option<Arc<EventBudget>> {
        if self.of.many == 0 {
            return None;
        }
        let mut users = self.users.lock();
        let (known, room) = &mut *users;
        if let Some(spending) = known.get(&user) {
            return Some(spending.clone());
        }
        if known.len() >= *room {
            // Buckets that are not full stay, so that reconnecting does not refill them.
            known.retain(|_, of| Arc::strong_count(of) > 1 || !of.is_full());
            known.shrink_to_fit();
            *room = USERS.max(2 * known.len());
        }
        let bucket = Mutex::new(TokenBucket::new_full(self.of, app.now()));
        let spending = Arc::new(EventBudget { app: app.clone(), of: self.of, is_over: AtomicBool::new(false), bucket });
        known.insert(user, spending.clone());
        Some(spending)
    }

    /// Estimate for an event with this many fields.
    pub fn estimate_bytes(&self, fields: usize) -> usize {
        fields.saturating_mul(FIELD_BYTES).clamp(EVENT_BYTES, self.largest.max(EVENT_BYTES))
    }
}

impl EventBudget {
    /// Whether nothing may be sent now.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed) && self.missing_bytes() > 0
    }

    /// Waits until events may be sent again.
    pub async fn wait_recovered(&self) {
        self.app.metrics.events_slowed.inc();
        loop {
            let missing = self.missing_bytes();
            if missing == 0 {
                return;
            }
            sleep(Duration::from_secs(self.of.refill_seconds(missing)).min(LOOK)).await;
        }
    }

    /// Charges for an event that is sent.
    pub fn charge_event(&self, bytes: usize) {
        self.charge_bytes(to_units(bytes.max(EVENT_BYTES)));
    }

    /// Reserves bytes for an event that is about to be made.
    pub fn reserve_bytes(&self, bytes: usize) {
        self.charge_bytes(to_units(bytes));
    }

    /// Replaces a reservation by the size of the event.
    pub fn settle_reserved(&self, reserved: usize, bytes: usize) {
        self.charge_bytes(to_units(bytes.max(EVENT_BYTES)) - to_units(reserved));
    }

    /// Charges for missed items that were read.
    pub fn charge_missed(&self, pages: usize, items: usize) {
        self.charge_bytes(to_units(pages * PAGE_BYTES + items * ITEM_BYTES));
    }

    fn charge_bytes(&self, bytes: i64) {
        let is_over = self.bucket.lock().force_take(self.of, bytes, self.app.now()) > 0;
        self.is_over.store(is_over, Relaxed);
    }

    fn missing_bytes(&self) -> i64 {
        let missing = self.bucket.lock().force_take(self.of, 0, self.app.now());
        self.is_over.store(missing > 0, Relaxed);
        missing
    }

    fn is_full(&self) -> bool {
        self.bucket.lock().is_full(self.of, self.app.now())
    }
}

fn to_units(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

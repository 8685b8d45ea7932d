//! Tenants: the unit of isolation.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::ids::{ChannelId, Seq, TenantId};
use parking_lot::RwLock;
use tokio::sync::Mutex;

use super::seal::{Kind, Seal};

/// What never changes about a tenant, and what of theirs waits in this process.
#[derive(Debug)]
pub struct Tenant {
    /// Leads every table.
    pub id: TenantId,
    /// As tokens name them.
    pub code: String,
    /// Seals the ids that their clients see.
    pub seal: Seal,
    /// What announcements to everyone are published to.
    pub everyone: ChannelId,
    /// How often the process had forgotten everything when they were found. What belongs to another era may mean something else.
    pub era: u64,
    /// What of theirs waits in this process.
    pub queues: Queues,
    /// Held by whoever reads the catalogue anew, so that nobody else does at the same time.
    pub reading_catalogue: Mutex<()>,
    /// The end of the log as this process last saw it: it may have gone on.
    end: AtomicI64,
    /// How many users were erased, as this process last saw it: there may be more.
    erased_count: AtomicI64,
}

impl Tenant {
    /// As they were found.
    pub fn new(id: TenantId, code: String, (seal, everyone): (Seal, ChannelId), erased_count: i64, era: u64) -> Self {
        Self {
            id,
            code,
            seal,
            everyone,
            era,
            queues: Queues::default(),
            reading_catalogue: Mutex::default(),
            end: AtomicI64::new(0),
            erased_count: AtomicI64::new(erased_count),
        }
    }

    /// Whether another look found the same.
    pub fn is(&self, found: &Self) -> bool {
        let names = |of: &Self| (of.id, of.everyone, of.era, of.seal.close(Kind::Row, 0, 0));
        names(self) == names(found)
    }

    /// The end of the log as this process last saw it: it may have gone on.
    pub fn end(&self) -> Seq {
        Seq(self.end.load(Ordering::Relaxed))
    }

    /// Remembers how far the log went.
    pub fn saw(&self, end: Seq) {
        self.end.fetch_max(end.0, Ordering::Relaxed);
    }

    /// Forgets what was beyond a place, for the log seems to end there: the database was restored. Nothing is believed of what
    /// comes after it until it is seen again, so that it does no harm where that is not so.
    pub fn went_back(&self, end: Seq) {
        self.end.fetch_min(end.0, Ordering::Relaxed);
    }

    /// How many of the tenant's users were erased, as this process last saw it: there may be more.
    ///
    /// Whom it knew when it was less is looked up anew. So it matters not when a process hears of an erasure, only that
    /// whoever writes something about a user makes sure that they are one (`user::held`, `inbox::sync`, `notification::send`).
    pub fn erased_count(&self) -> i64 {
        self.erased_count.load(Ordering::SeqCst)
    }

    /// Remembers how many users were erased.
    pub fn saw_erased(&self, count: i64) {
        self.erased_count.fetch_max(count, Ordering::SeqCst);
    }
}

/// What waits in this process to be done together, a queue of each type.
#[derive(Default)]
pub struct Queues(RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Queues {
    /// The queue of a type, made now if nothing has waited in it yet.
    pub fn of<Q: Any + Send + Sync>(&self, new: impl FnOnce() -> Q) -> Arc<Q> {
        let kind = TypeId::of::<Q>();
        let known = self.0.read().get(&kind).cloned();
        let queue = known.unwrap_or_else(|| {
            let mut queues = self.0.write();
            queues.entry(kind).or_insert_with(|| Arc::new(new())).clone()
        });
        queue.downcast().expect("it stands under its own type")
    }
}

impl Debug for Queues {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Queues")
    }
}

//! Tenants: the unit of isolation.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::ids::{ChannelId, Seq, TenantId};
use parking_lot::RwLock;
use tokio::sync::Mutex;

use super::id_cipher::{IdCipher, IdKind};

/// The immutable facts of a tenant, and its state in this process.
#[derive(Debug)]
pub struct Tenant {
    /// The first key column of every table.
    pub id: TenantId,
    /// The name used in tokens.
    pub code: String,
    /// Encodes the ids that clients see.
    pub id_cipher: IdCipher,
    /// The channel for announcements to everyone.
    pub everyone: ChannelId,
    /// How often this process had dropped its caches when the tenant was loaded. Ids of another era may mean something
    /// else.
    pub era: u64,
    /// The tenant's batch queues in this process.
    pub queues: TenantBatchers,
    /// Held while the catalogue is read, so that only one task reads it at a time.
    pub reading_catalogue: Mutex<()>,
    /// The last known end of the log; the real one may be further.
    end: AtomicI64,
    /// The last known number of erased users; the real one may be higher.
    erased_count: AtomicI64,
}

impl Tenant {
    /// Creates a tenant as loaded from the database.
    pub fn new(
        id: TenantId,
        code: String,
        (id_cipher, everyone): (IdCipher, ChannelId),
        erased_count: i64,
        era: u64,
    ) -> Self {
        Self {
            id,
            code,
            id_cipher,
            everyone,
            era,
            queues: TenantBatchers::default(),
            reading_catalogue: Mutex::default(),
            end: AtomicI64::new(0),
            erased_count: AtomicI64::new(erased_count),
        }
    }

    /// Whether a tenant loaded again is the same.
    pub fn is_same(&self, found: &Self) -> bool {
        let names = |of: &Self| (of.id, of.everyone, of.era, of.id_cipher.encode(IdKind::Row, 0, 0));
        names(self) == names(found)
    }

    /// The last known end of the log; the real one may be further.
    pub fn log_end(&self) -> Seq {
        Seq(self.end.load(Ordering::Relaxed))
    }

    /// Records an end of the log.
    pub fn observe_log_end(&self, end: Seq) {
        self.end.fetch_max(end.0, Ordering::Relaxed);
    }

    /// Lowers the known end because the log seems to end there, as after a restore. Later positions count only once
    /// they are seen again, so a wrong call does no harm.
    pub fn reset_log_end(&self, end: Seq) {
        self.end.fetch_min(end.0, Ordering::Relaxed);
    }

    /// The last known number of erased users; the real one may be higher.
    ///
    /// Users cached at a lower number are looked up again. A process need not learn of an erasure at once, because each
    /// write about a user checks that the user exists (`user::held`, `inbox::sync`, `notification::send`).
    pub fn erased_count(&self) -> i64 {
        self.erased_count.load(Ordering::SeqCst)
    }

    /// Records the number of erased users.
    pub fn observe_erased_count(&self, count: i64) {
        self.erased_count.fetch_max(count, Ordering::SeqCst);
    }
}

/// Batch queues of this process, one per type.
#[derive(Default)]
pub struct TenantBatchers(RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl TenantBatchers {
    /// The queue of a type, created on first use.
    pub fn get_or_create<Q: Any + Send + Sync>(&self, new: impl FnOnce() -> Q) -> Arc<Q> {
        let kind = TypeId::of::<Q>();
        let known = self.0.read().get(&kind).cloned();
        let queue = known.unwrap_or_else(|| {
            let mut queues = self.0.write();
            queues.entry(kind).or_insert_with(|| Arc::new(new())).clone()
        });
        queue.downcast().expect("it stands under its own type")
    }
}

impl Debug for TenantBatchers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("TenantBatchers")
    }
}

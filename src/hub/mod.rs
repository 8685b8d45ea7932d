//! The hub tells open sessions, here and on other nodes, that there is news.
//!
//! What it passes on are [`Notice`]s: they name channels and users, never what was sent. A notice that is lost makes
//! a session late, never wrong, for whoever hears of news reads the database, and the end of the log is looked at
//! once a second anyway.

mod bus;
mod notice;
mod outgoing;
mod peers;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use entity::ids::TenantId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use bus::{Bus, reach};
pub use notice::Notice;
use outgoing::Outgoing;
use peers::Peers;
pub use peers::{About, Peer};

/// Who listens in this process, and what other nodes are still to be told.
#[derive(Debug, Default)]
pub struct Hub {
    listeners: Mutex<HashMap<TenantId, UnboundedSender<Arc<Notice>>>>,
    outgoing: Outgoing,
    has_bus: bool,
    /// What this node tells of itself.
    about: About,
    peers: Peers,
    /// Tenants whose log has grown, or in which something was amended, since somebody asked.
    grown: Mutex<HashSet<TenantId>>,
    has_grown: Notify,
}

impl Hub {
    /// With a bus to other nodes, or without, of the node that this is.
    pub fn new(has_bus: bool, about: About) -> Self {
        Self { has_bus, about, ..Self::default() }
    }

    /// What this node tells of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The other nodes of which was heard within the last minute, with what a tenant does there: that is told from a second later on, for as
    /// long as somebody asks every few seconds.
    pub fn peers(&self, tenant: TenantId) -> Vec<Peer> {
        self.peers.of(tenant, Instant::now())
    }

    /// Whether other nodes are told, and tell.
    pub fn has_bus(&self) -> bool {
        self.has_bus
    }

    /// Passes a notice on, here at once and to the other nodes as soon as the bus takes it. Call it after the commit.
    pub fn tell(&self, notice: Notice) {
        if notice.is_empty() {
            return;
        }
        if self.has_bus {
            self.outgoing.add(&notice);
        }
        self.hear(notice);
    }

    /// All notices about a tenant from now on. Only the latest to ask for them gets them.
    pub fn listen(&self, tenant: TenantId) -> UnboundedReceiver<Arc<Notice>> {
        let (listener, notices) = unbounded_channel();
        self.listeners.lock().insert(tenant, listener);
        notices
    }

    /// Nobody wants to hear about the tenant any more.
    pub fn ignore(&self, tenant: TenantId) {
        self.listeners.lock().remove(&tenant);
    }

    /// Waits until a log has grown, or something in it was amended, here or on another node. For one that waits.
    pub async fn growth(&self) {
        self.has_grown.notified().await;
    }

    /// Whose log has grown since the last time.
    pub fn grown(&self) -> HashSet<TenantId> {
        std::mem::take(&mut *self.grown.lock())
    }

    fn hear(&self, notice: Notice) {
        if notice.everybody || !notice.seqs.is_empty() || !notice.items.is_empty() {
            self.grown.lock().insert(notice.tenant);
            self.has_grown.notify_one();
        }
        let listeners = self.listeners.lock();
        if let Some(listener) = listeners.get(&notice.tenant) {
            // Who has gone away does not want to know.
            let _ = listener.send(Arc::new(notice));
        }
    }

    /// Something may have been missed: everybody who listens shall look for themselves.
    fn hear_that_anything_may_have_happened(&self) {
        let listeners = self.listeners.lock();
        for (tenant, listener) in listeners.iter() {
            let _ = listener.send(Arc::new(Notice { everybody: true, ..Notice::of(*tenant) }));
        }
    }
}

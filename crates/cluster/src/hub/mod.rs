//! Publishes change notices to open sessions on this node and on others.
//!
//! A [`Notice`] names the channels and users that a change concerns, never the content. A lost notice makes a session
//! late, not wrong: sessions read the database when they receive a notice, and each node also polls the end of the log
//! once a second.

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

pub use bus::{NodeBus, describe_redis};
pub use notice::Notice;
use outgoing::OutgoingNotices;
use peers::PeerRegistry;
pub use peers::{NodeInfo, PeerNode};

/// The listeners in this process, and the notices that wait to be sent to other nodes.
#[derive(Debug, Default)]
pub struct Hub {
    listeners: Mutex<HashMap<TenantId, UnboundedSender<Arc<Notice>>>>,
    outgoing: OutgoingNotices,
    has_bus: bool,
    /// This node, as it describes itself to the others.
    about: NodeInfo,
    peers: PeerRegistry,
    /// Tenants with a log that has grown, or with an amended item, since the last call of [`Hub::take_advanced`].
    grown: Mutex<HashSet<TenantId>>,
    has_grown: Notify,
}

impl Hub {
    /// `has_bus`: whether there is a bus to other nodes. `about` describes this node.
    pub fn new(has_bus: bool, about: NodeInfo) -> Self {
        Self { has_bus, about, ..Self::default() }
    }

    /// This node, as it describes itself to the others.
    pub fn this_node(&self) -> &NodeInfo {
        &self.about
    }

    /// The other nodes heard from within the last minute, each with the tenant's activity there. Nodes begin to report
    /// that activity about a second after the first call, and stop if this is not called again for 15 s.
    pub fn peers(&self, tenant: TenantId) -> Vec<PeerNode> {
        self.peers.list_for_tenant(tenant, Instant::now())
    }

    /// Whether this node exchanges notices with others.
    pub fn has_bus(&self) -> bool {
        self.has_bus
    }

    /// Publishes a notice: on this node at once, on others as soon as the bus takes it. Call it after the commit.
    pub fn publish(&self, notice: Notice) {
        if notice.is_empty() {
            return;
        }
        if self.has_bus {
            self.outgoing.add(&notice);
        }
        self.publish_local(notice);
    }

    /// All notices about a tenant from now on. A later call for the same tenant replaces the listener.
    pub fn listen(&self, tenant: TenantId) -> UnboundedReceiver<Arc<Notice>> {
        let (listener, notices) = unbounded_channel();
        self.listeners.lock().insert(tenant, listener);
        notices
    }

    /// Removes the tenant's listener.
    pub fn remove_listener(&self, tenant: TenantId) {
        self.listeners.lock().remove(&tenant);
    }

    /// Waits until a log has grown or an item was amended, on any node. For a single waiter.
    pub async fn log_advanced(&self) {
        self.has_grown.notified().await;
    }

    /// The tenants with such a log since the last call, which this call clears.
    pub fn take_advanced(&self) -> HashSet<TenantId> {
        std::mem::take(&mut *self.grown.lock())
    }

    fn publish_local(&self, notice: Notice) {
        if notice.everybody || !notice.seqs.is_empty() || !notice.items.is_empty() {
            self.grown.lock().insert(notice.tenant);
            self.has_grown.notify_one();
        }
        let listeners = self.listeners.lock();
        if let Some(listener) = listeners.get(&notice.tenant) {
            // Fails only if the listener is gone.
            let _ = listener.send(Arc::new(notice));
        }
    }

    /// Notices may have been lost: asks every listener to read the database.
    fn request_full_reads(&self) {
        let listeners = self.listeners.lock();
        for (tenant, listener) in listeners.iter() {
            let _ = listener.send(Arc::new(Notice { everybody: true, ..Notice::for_tenant(*tenant) }));
        }
    }
}

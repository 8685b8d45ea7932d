//! The rooms that are open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64};

use entity::ids::TenantId;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;

/// The rooms of this process.
#[derive(Debug, Default)]
pub struct Live {
    pub(super) rooms: Mutex<HashMap<TenantId, UnboundedSender<Event>>>,
    pub(super) sessions: AtomicU64,
    /// What expired up to this instant was noticed.
    pub(super) expired_upto: AtomicI64,
}

impl Live {
    /// Ends all sessions, which come back: what their rooms remember may mean something else by now.
    pub fn end(&self) {
        for room in self.rooms.lock().values() {
            let _ = room.send(Event::Anew { tenant: None });
        }
    }

    /// Tells a tenant's room, if it is open.
    pub(super) fn tell(&self, tenant: TenantId, event: Event) {
        let rooms = self.rooms.lock();
        if let Some(room) = rooms.get(&tenant) {
            let _ = room.send(event);
        }
    }
}

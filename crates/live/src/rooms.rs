//! The open rooms.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64};

use entity::ids::TenantId;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::event::RoomEvent;

/// The rooms of this process.
#[derive(Debug, Default)]
pub struct LiveRooms {
    pub(super) rooms: Mutex<HashMap<TenantId, UnboundedSender<RoomEvent>>>,
    pub(super) sessions: AtomicU64,
    /// Expired notifications up to this time were announced to the rooms.
    pub(super) expired_upto: AtomicI64,
}

impl LiveRooms {
    /// Ends all sessions; their clients subscribe again. Used when the cached state of rooms may be invalid.
    pub fn end_sessions(&self) {
        for room in self.rooms.lock().values() {
            let _ = room.send(RoomEvent::Anew { tenant: None });
        }
    }

    /// Sends an event to a tenant's room, if it is open.
    pub(super) fn send_event(&self, tenant: TenantId, event: RoomEvent) {
        let rooms = self.rooms.lock();
        if let Some(room) = rooms.get(&tenant) {
            let _ = room.send(event);
        }
    }
}

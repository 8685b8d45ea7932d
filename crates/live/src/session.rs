//! A session in its tenant's room, from joining to leaving.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use entity::ids::{Seq, UserId};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing::Span;

use super::event::{RoomEvent, SessionKind};
use super::room::Room;
use super::rooms::LiveRooms;
use domain::tenant::Tenant;
use store::Store;

/// A session that has joined its tenant's room. Dropping it leaves the room.
#[derive(Debug)]
pub(super) struct RoomSession {
    pub store: Arc<Store>,
    room: UnboundedSender<RoomEvent>,
    pub user: UserId,
    /// The tracing span of the subscription.
    pub span: Span,
    number: u64,
}

impl Drop for RoomSession {
    fn drop(&mut self) {
        self.store.metrics.subscriptions.dec();
        let _ = self.room.send(RoomEvent::Leave { user: self.user, session: self.number });
    }
}

/// Joins the tenant's room for items or an overview. The inbox was complete up to `from`; the room sends what comes
/// after.
pub(super) fn join_room(
    store: &Arc<Store>,
    live: &Arc<LiveRooms>,
    tenant: &Arc<Tenant>,
    user: UserId,
    from: Seq,
    want: SessionKind,
) -> RoomSession {
    join_room_with(store, live, tenant, user, |session| RoomEvent::Join { user, session, from, want })
}

/// Joins the tenant's room, opening it if needed. `event` makes the joining event from the session's number.
pub(super) fn join_room_with(
    store: &Arc<Store>,
    live: &Arc<LiveRooms>,
    tenant: &Arc<Tenant>,
    user: UserId,
    event: impl FnOnce(u64) -> RoomEvent,
) -> RoomSession {
    let number = live.sessions.fetch_add(1, Ordering::Relaxed);
    let mut rooms = live.rooms.lock();
    let room = rooms.entry(tenant.id).or_insert_with(|| {
        let (events, inbox) = unbounded_channel();
        tokio::spawn(Room::new(store.clone(), live.clone(), tenant.clone(), inbox).run());
        events
    });
    let era = store.db.fence.era();
    if era > 0 && era == tenant.era {
        let _ = room.send(RoomEvent::Anew { tenant: Some(tenant.clone()) });
    }
    // The room removes itself from the map under this lock before it stops receiving, also when it panics.
    let _ = room.send(event(number));
    if era != tenant.era {
        // What the session has read comes from an earlier era, so all sessions must start again.
        let _ = room.send(RoomEvent::Anew { tenant: None });
    }
    store.metrics.subscriptions.inc();
    RoomSession { store: store.clone(), room: room.clone(), user, span: Span::current(), number }
}

//! How a room ends before its time: it panics, or the log that it follows is another one.

use super::Room;

impl Room {
    /// Ends all sessions, also those that have just asked to join, whose clients then come again to another room.
    pub(super) fn end(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.take(event);
        }
        self.members.end();
        self.view_members.end();
    }
}

/// Whoever comes next finds no room, and makes another.
impl Drop for Room {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let live = self.live.clone();
            let mut rooms = live.rooms.lock();
            rooms.remove(&self.tenant.id);
            self.app.hub.ignore(self.tenant.id);
            self.end();
        }
    }
}

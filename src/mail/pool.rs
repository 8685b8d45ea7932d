//! Connections that wait for the next letter.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::relay::Door;
use super::session::Session;

/// How many connections to a relay wait at once.
const WAITING: usize = 4;

/// Those that wait, by relay.
#[derive(Debug)]
pub(super) struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    idle: Duration,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The one that was used last stands last.
    by_door: HashMap<Door, Vec<(Instant, Session)>>,
    /// Whether somebody looks after them.
    is_watched: bool,
}

impl Pool {
    /// Of connections that wait for at most `idle`.
    pub fn new(idle: Duration) -> Self {
        Self { inner: Arc::new(Inner { idle, waiting: Mutex::default() }) }
    }

    /// Whether any waits.
    #[cfg(test)]
    pub fn has_any(&self) -> bool {
        !self.inner.waiting.lock().by_door.is_empty()
    }

    /// The one that was used last.
    pub fn take(&self, door: &Door) -> Option<Session> {
        let mut waiting = self.inner.waiting.lock();
        let (since, session) = waiting.by_door.get_mut(door)?.pop()?;
        // Those below have waited for longer still.
        (since.elapsed() < self.inner.idle).then_some(session)
    }

    /// Has a connection wait, if not enough do already.
    pub fn put(&self, door: &Door, session: Session) {
        let mut waiting = self.inner.waiting.lock();
        let of_door = waiting.by_door.entry(door.clone()).or_default();
        if of_door.len() < WAITING {
            of_door.push((Instant::now(), session));
        }
        if !waiting.is_watched {
            waiting.is_watched = true;
            tokio::spawn(watch(Arc::downgrade(&self.inner), self.inner.idle));
        }
    }
}

/// Ends connections that nobody has used for long, until there are no more.
async fn watch(pool: Weak<Inner>, idle: Duration) {
    loop {
        tokio::time::sleep(idle / 4).await;
        let Some(pool) = pool.upgrade() else { return };
        let (over, is_watched): (Vec<Session>, bool) = {
            let mut waiting = pool.waiting.lock();
            let all = waiting.by_door.values_mut();
            let over = all.flat_map(|of_door| of_door.extract_if(.., |(since, _)| since.elapsed() >= idle * 3 / 4));
            let over = over.map(|(_, session)| session).collect();
            waiting.by_door.retain(|_, of_door| !of_door.is_empty());
            waiting.is_watched = !waiting.by_door.is_empty();
            (over, waiting.is_watched)
        };
        for session in over {
            tokio::spawn(session.end());
        }
        if !is_watched {
            return;
        }
    }
}

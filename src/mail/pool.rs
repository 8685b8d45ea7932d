//! Pool of idle connections.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::relay::Door;
use super::session::Session;

/// Maximum idle connections per relay.
const WAITING: usize = 4;

/// Idle connections, by relay.
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
    /// The most recently used connection is last.
    by_door: HashMap<Door, Vec<(Instant, Session)>>,
    /// Whether the clean-up task runs.
    is_watched: bool,
}

impl Pool {
    /// A pool that keeps idle connections for at most `idle`.
    pub fn new(idle: Duration) -> Self {
        Self { inner: Arc::new(Inner { idle, waiting: Mutex::default() }) }
    }

    /// Whether it has any connection.
    #[cfg(test)]
    pub fn has_any(&self) -> bool {
        !self.inner.waiting.lock().by_door.is_empty()
    }

    /// Takes the most recently used connection.
    pub fn take(&self, door: &Door) -> Option<Session> {
        let mut waiting = self.inner.waiting.lock();
        let (since, session) = waiting.by_door.get_mut(door)?.pop()?;
        // The others have been idle for even longer.
        (since.elapsed() < self.inner.idle).then_some(session)
    }

    /// Returns a connection to the pool; drops it if the pool is full.
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

/// Closes idle connections until the pool is empty.
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

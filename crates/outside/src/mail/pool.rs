//! Pool of idle connections.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::relay::RelayKey;
use super::session::SmtpSession;

/// Maximum idle connections per relay.
const WAITING: usize = 4;

/// Idle connections, by relay.
#[derive(Debug)]
pub(super) struct SessionPool {
    inner: Arc<PoolInner>,
}

#[derive(Debug)]
struct PoolInner {
    idle: Duration,
    waiting: Mutex<IdleSession>,
}

#[derive(Debug, Default)]
struct IdleSession {
    /// The most recently used connection is last.
    by_door: HashMap<RelayKey, Vec<(Instant, SmtpSession)>>,
    /// Whether the clean-up task runs.
    is_watched: bool,
}

impl SessionPool {
    /// A pool that keeps idle connections for at most `idle`.
    pub fn new(idle: Duration) -> Self {
        Self { inner: Arc::new(PoolInner { idle, waiting: Mutex::default() }) }
    }

    /// Whether it has any connection.
    #[cfg(test)]
    pub fn has_any(&self) -> bool {
        !self.inner.waiting.lock().by_door.is_empty()
    }

    /// Takes the most recently used connection.
    pub fn take(&self, door: &RelayKey) -> Option<SmtpSession> {
        let mut waiting = self.inner.waiting.lock();
        let (since, session) = waiting.by_door.get_mut(door)?.pop()?;
        // The others have been idle for even longer.
        (since.elapsed() < self.inner.idle).then_some(session)
    }

    /// Returns a connection to the pool; drops it if the pool is full.
    pub fn put_back(&self, door: &RelayKey, session: SmtpSession) {
        let mut waiting = self.inner.waiting.lock();
        let of_door = waiting.by_door.entry(door.clone()).or_default();
        if of_door.len() < WAITING {
            of_door.push((Instant::now(), session));
        }
        if !waiting.is_watched {
            waiting.is_watched = true;
            tokio::spawn(close_idle(Arc::downgrade(&self.inner), self.inner.idle));
        }
    }
}

/// Closes idle connections until the pool is empty.
async fn close_idle(pool: Weak<PoolInner>, idle: Duration) {
    loop {
        tokio::time::sleep(idle / 4).await;
        let Some(pool) = pool.upgrade() else { return };
        let (over, is_watched): (Vec<SmtpSession>, bool) = {
            let mut waiting = pool.waiting.lock();
            let all = waiting.by_door.values_mut();
            let over = all.flat_map(|of_door| of_door.extract_if(.., |(since, _)| since.elapsed() >= idle * 3 / 4));
            let over = over.map(|(_, session)| session).collect();
            waiting.by_door.retain(|_, of_door| !of_door.is_empty());
            waiting.is_watched = !waiting.by_door.is_empty();
            (over, waiting.is_watched)
        };
        for session in over {
            tokio::spawn(session.quit());
        }
        if !is_watched {
            return;
        }
    }
}

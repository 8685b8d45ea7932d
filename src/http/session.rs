//! Sessions: sockets and event streams that stay open, which are counted, bounded, and asked to leave at the end.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use entity::ids::TenantId;
use tokio::sync::watch;

use crate::app::App;
use crate::auth::Claims;
use crate::error::{Error, Result};
use crate::graphql::Viewer;

/// How long sessions take to leave, one after the other, so that not all come back at once.
const SPREAD: Duration = Duration::from_secs(3);

/// All sessions of a server.
#[derive(Clone, Debug)]
pub struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: Arc<App>,
    open: Mutex<HashMap<Who, u32>>,
    /// How many there are, and whether they are to leave.
    count: watch::Sender<u32>,
    is_stopping: watch::Sender<bool>,
}

type Who = (TenantId, crate::auth::Role, String);

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Session {
    sessions: Sessions,
    who: Who,
}

impl Sessions {
    /// None yet.
    pub fn new(app: Arc<App>) -> Self {
        Self(Arc::new(Inner {
            app,
            open: Mutex::default(),
            count: watch::Sender::new(0),
            is_stopping: watch::Sender::new(false),
        }))
    }

    /// One more; `UNAVAILABLE` where its user, or this node, has as many as it may.
    pub fn enter(&self, viewer: &Viewer) -> Result<Session> {
        let who = (viewer.tenant.id, viewer.role, viewer.sub.clone());
        let Inner { app, open, count, .. } = &*self.0;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if *count.borrow() >= app.config.sessions {
            return Err(Error::Unavailable(format!("this node has {} sessions already", app.config.sessions)));
        }
        let own = open.entry(who.clone()).or_default();
        if *own >= app.config.sessions_per_user {
            let message = format!("at most {} sessions a user at the same time", app.config.sessions_per_user);
            return Err(Error::Unavailable(message));
        }
        *own += 1;
        count.send_modify(|count| *count += 1);
        app.metrics.sessions.inc();
        Ok(Session { sessions: self.clone(), who })
    }

    /// Asks all of them to leave.
    pub fn stop(&self) {
        self.0.is_stopping.send_replace(true);
    }

    /// Whether they are asked to leave.
    pub fn are_stopping(&self) -> bool {
        *self.0.is_stopping.borrow()
    }

    /// Over when one of them is to leave: each after another part of a few seconds.
    pub async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.is_stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
        let share = RandomState::new().hash_one(()) % 1000;
        tokio::time::sleep(SPREAD * u32::try_from(share).unwrap_or_default() / 1000).await;
    }

    /// Over when none is left.
    pub async fn gone(&self) {
        let _ = self.0.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Inner { app, open, count, .. } = &*self.sessions.0;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.who);
            }
        }
        count.send_modify(|count| *count -= 1);
        app.metrics.sessions.dec();
    }
}

/// How long a token is valid from now on, at most a year: that is as good as for ever, and can be added to an instant.
pub fn left(app: &App, claims: &Claims) -> Duration {
    let left = claims.exp.saturating_mul(1000).saturating_sub(app.now()).max(0);
    Duration::from_millis(left.unsigned_abs()).min(Duration::from_hours(24 * 365))
}

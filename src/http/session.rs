//! Sessions: open WebSockets and event streams. The server counts and limits them, and closes them at a shutdown.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::counts::Counts;
use crate::app::App;
use crate::auth::{Claims, Session as SignedIn};
use crate::domain::ended_session;
use crate::error::{Error, Result};
use crate::graphql::{Viewer, Who};

/// The time over which a shutdown closes the sessions, so that they do not all reconnect at once.
const SPREAD: Duration = Duration::from_secs(3);

/// How long a WebSocket or event stream may go on after its user has signed out of the desk.
const SIGNED_OUT_WITHIN: Duration = Duration::from_secs(10);

/// All sessions of this node.
#[derive(Clone, Debug)]
pub struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: Arc<App>,
    open: Mutex<Counts<Who>>,
    /// The number of sessions and reservations.
    count: watch::Sender<u32>,
    /// The number of them without a token yet.
    newcomers: AtomicU32,
    /// Whether load balancers should choose another node.
    is_draining: AtomicBool,
    is_stopping: watch::Sender<bool>,
}

/// The minimum of the limit for newcomers.
const NEWCOMERS: u32 = 10;

/// A reserved session, until it is dropped. Its user need not be known yet.
#[derive(Debug)]
pub struct Place {
    sessions: Sessions,
    is_newcomers: bool,
}

/// A session of a user, until it is dropped.
#[derive(Debug)]
pub struct Session {
    place: Place,
    who: Who,
}

impl Sessions {
    /// Without sessions.
    pub fn new(app: Arc<App>) -> Self {
        Self(Arc::new(Inner {
            app,
            open: Mutex::default(),
            count: watch::Sender::new(0),
            newcomers: AtomicU32::new(0),
            is_draining: AtomicBool::new(false),
            is_stopping: watch::Sender::new(false),
        }))
    }

    /// Reserves a session. `UNAVAILABLE` if this node has its maximum.
    pub fn place(&self) -> Result<Place> {
        let Inner { app, count, .. } = &*self.0;
        let most = app.config.sessions;
        let has_room = count.send_if_modified(|count| {
            let has_room = *count < most;
            *count += u32::from(has_room);
            has_room
        });
        if !has_room {
            return Err(Error::Unavailable(format!("this node has {most} sessions already")));
        }
        app.metrics.sessions.inc();
        Ok(Place { sessions: self.clone(), is_newcomers: false })
    }

    /// Reserves a session for a client without a token yet. All of these share a tenth of the sessions.
    pub fn place_of_newcomer(&self) -> Result<Place> {
        let Inner { app, newcomers, .. } = &*self.0;
        let most = (app.config.sessions / 10).max(NEWCOMERS);
        let more = |count| (count < most).then_some(count + 1);
        if newcomers.fetch_update(Relaxed, Relaxed, more).is_err() {
            return Err(Error::Unavailable(format!("{most} sockets have not sent a token yet")));
        }
        match self.place() {
            Ok(mut place) => {
                place.is_newcomers = true;
                Ok(place)
            }
            Err(error) => {
                newcomers.fetch_sub(1, Relaxed);
                Err(error)
            }
        }
    }

    /// The node is about to stop. It still accepts sessions, but `/readyz` fails.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Relaxed);
    }

    /// Whether [`Sessions::drain`] was called.
    pub fn are_draining(&self) -> bool {
        self.0.is_draining.load(Relaxed)
    }

    /// Begins to close all sessions.
    pub fn stop(&self) {
        self.0.is_stopping.send_replace(true);
    }

    /// Completes when one session is to close. Each waits a random part of three seconds.
    pub async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.is_stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
        let share = RandomState::new().hash_one(()) % 1000;
        tokio::time::sleep(SPREAD * u32::try_from(share).unwrap_or_default() / 1000).await;
    }

    /// Completes when no session is left.
    pub async fn gone(&self) {
        let _ = self.0.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Place {
    /// Turns the reservation into the viewer's session. `UNAVAILABLE` if the viewer has its maximum.
    pub fn taken(mut self, viewer: &Viewer) -> Result<Session> {
        let who = viewer.who();
        let Inner { app, open, .. } = &*self.sessions.0;
        let most = app.config.sessions_per_user;
        let mut open = open.lock();
        if open.of(&who) >= most as usize {
            return Err(Error::Unavailable(format!("a user can have at most {most} sessions at the same time")));
        }
        open.add(who.clone(), 1);
        drop(open);
        app.pulse.comes(who.0);
        self.comes_in();
        Ok(Session { place: self, who })
    }
}

impl Place {
    /// The client is no longer without a token, or is gone.
    fn comes_in(&mut self) {
        if std::mem::take(&mut self.is_newcomers) {
            self.sessions.0.newcomers.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.comes_in();
        let Inner { app, count, .. } = &*self.sessions.0;
        count.send_modify(|count| *count -= 1);
        app.metrics.sessions.dec();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Inner { app, open, .. } = &*self.place.sessions.0;
        app.pulse.goes(self.who.0);
        open.lock().remove(&self.who, 1);
    }
}

/// A session's credential, and how long it is valid.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Seconds since 1970.
    exp: i64,
    /// The id of the sign-in session, for a cookie. Its user may end it early.
    session_id: Option<String>,
}

impl Pass {
    /// From a token.
    pub fn token(claims: &Claims) -> Self {
        Self { exp: claims.exp, session_id: None }
    }

    /// From the cookie of a signed-in user.
    pub fn cookie(session: &SignedIn) -> Self {
        Self { exp: session.claims.exp, session_id: Some(session.id.clone()) }
    }

    /// Time until the next check of the credential. At most a year, so that it can be added to an instant.
    pub fn left(&self, app: &App) -> Duration {
        let left = self.exp.saturating_mul(1000).saturating_sub(app.now()).max(0);
        let most = if self.session_id.is_some() { SIGNED_OUT_WITHIN } else { Duration::from_hours(24 * 365) };
        Duration::from_millis(left.unsigned_abs()).min(most)
    }

    /// The close reason when the credential has ended.
    pub fn ended(&self) -> &'static str {
        if self.session_id.is_some() { "the session has ended: sign in again" } else { "the token has expired" }
    }

    /// Whether it is still valid after `left`. A token never is; a sign-in session is until it expires or is ended.
    pub async fn counts(&self, app: &App) -> bool {
        let Some(id) = &self.session_id else { return false };
        let is_over = self.exp.saturating_mul(1000) <= app.now();
        !is_over && !matches!(ended_session::has_ended(app, id).await, Ok(true))
    }
}

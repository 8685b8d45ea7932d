//! Sessions: open WebSockets and event streams. The server counts and limits them, and closes them at a shutdown.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::key_counters::KeyCounts;
use crate::app::App;
use crate::graphql::{CallerIdentity, Viewer};
use auth::{SignInSession, TokenClaims};
use base::error::{Error, Result};
use domain::ended_session;

/// The time over which a shutdown closes the sessions, so that they do not all reconnect at once.
const SPREAD: Duration = Duration::from_secs(3);

/// How long a WebSocket or event stream may go on after its user has signed out of the desk.
const SIGNED_OUT_WITHIN: Duration = Duration::from_secs(10);

/// All sessions of this node.
#[derive(Clone, Debug)]
pub struct SessionRegistry(Arc<SessionCounters>);

#[derive(Debug)]
struct SessionCounters {
    app: Arc<App>,
    open: Mutex<KeyCounts<CallerIdentity>>,
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
pub struct SessionPermit {
    sessions: SessionRegistry,
    is_newcomers: bool,
}

/// A session of a user, until it is dropped.
#[derive(Debug)]
pub struct OpenSession {
    place: SessionPermit,
    who: CallerIdentity,
}

impl SessionRegistry {
    /// Without sessions.
    pub fn new(app: Arc<App>) -> Self {
        Self(Arc::new(SessionCounters {
            app,
            open: Mutex::default(),
            count: watch::Sender::new(0),
            newcomers: AtomicU32::new(0),
            is_draining: AtomicBool::new(false),
            is_stopping: watch::Sender::new(false),
        }))
    }

    /// Reserves a session. `UNAVAILABLE` if this node has its maximum.
    pub fn reserve(&self) -> Result<SessionPermit> {
        let SessionCounters { app, count, .. } = &*self.0;
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
        Ok(SessionPermit { sessions: self.clone(), is_newcomers: false })
    }

    /// Reserves a session for a client without a token yet. All of these share a tenth of the sessions.
    pub fn reserve_newcomer(&self) -> Result<SessionPermit> {
        let SessionCounters { app, newcomers, .. } = &*self.0;
        let most = (app.config.sessions / 10).max(NEWCOMERS);
        let more = |count| (count < most).then_some(count + 1);
        if newcomers.fetch_update(Relaxed, Relaxed, more).is_err() {
            return Err(Error::Unavailable(format!("{most} sockets have not sent a token yet")));
        }
        match self.reserve() {
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
    pub fn start_draining(&self) {
        self.0.is_draining.store(true, Relaxed);
    }

    /// Whether [`SessionRegistry::start_draining`] was called.
    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Relaxed)
    }

    /// Begins to close all sessions.
    pub fn close_all(&self) {
        self.0.is_stopping.send_replace(true);
    }

    /// Completes when one session is to close. Each waits a random part of three seconds.
    pub async fn wait_for_close(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.is_stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
        let share = RandomState::new().hash_one(()) % 1000;
        tokio::time::sleep(SPREAD * u32::try_from(share).unwrap_or_default() / 1000).await;
    }

    /// Completes when no session is left.
    pub async fn wait_until_empty(&self) {
        let _ = self.0.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl SessionPermit {
    /// Turns the reservation into the viewer's session. `UNAVAILABLE` if the viewer has its maximum.
    pub fn into_session(mut self, viewer: &Viewer) -> Result<OpenSession> {
        let who = viewer.identity();
        let SessionCounters { app, open, .. } = &*self.sessions.0;
        let most = app.config.sessions_per_user;
        let mut open = open.lock();
        if open.get(&who) >= most as usize {
            return Err(Error::Unavailable(format!("a user can have at most {most} sessions at the same time")));
        }
        open.add(who.clone(), 1);
        drop(open);
        app.activity.session_opened(who.0);
        self.leave_newcomers();
        Ok(OpenSession { place: self, who })
    }
}

impl SessionPermit {
    /// The client is no longer without a token, or is gone.
    fn leave_newcomers(&mut self) {
        if std::mem::take(&mut self.is_newcomers) {
            self.sessions.0.newcomers.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for SessionPermit {
    fn drop(&mut self) {
        self.leave_newcomers();
        let SessionCounters { app, count, .. } = &*self.sessions.0;
        count.send_modify(|count| *count -= 1);
        app.metrics.sessions.dec();
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        let SessionCounters { app, open, .. } = &*self.place.sessions.0;
        app.activity.session_closed(self.who.0);
        open.lock().remove(&self.who, 1);
    }
}

/// A session's credential, and how long it is valid.
#[derive(Clone, Debug)]
pub struct SessionCredential {
    /// Seconds since 1970.
    exp: i64,
    /// The id of the sign-in session, for a cookie. Its user may end it early.
    session_id: Option<String>,
}

impl SessionCredential {
    /// From a token.
    pub fn from_token(claims: &TokenClaims) -> Self {
        Self { exp: claims.exp, session_id: None }
    }

    /// From the cookie of a signed-in user.
    pub fn from_cookie(session: &SignInSession) -> Self {
        Self { exp: session.claims.exp, session_id: Some(session.id.clone()) }
    }

    /// Time until the next check of the credential. At most a year, so that it can be added to an instant.
    pub fn time_left(&self, app: &App) -> Duration {
        let left = self.exp.saturating_mul(1000).saturating_sub(app.now()).max(0);
        let most = if self.session_id.is_some() { SIGNED_OUT_WITHIN } else { Duration::from_hours(24 * 365) };
        Duration::from_millis(left.unsigned_abs()).min(most)
    }

    /// The close reason when the credential has ended.
    pub fn end_reason(&self) -> &'static str {
        if self.session_id.is_some() { "the session has ended: sign in again" } else { "the token has expired" }
    }

    /// Whether it is still valid after `time_left`. A token never is; a sign-in session is until it expires or is
    /// ended.
    pub async fn is_still_valid(&self, app: &App) -> bool {
        let Some(id) = &self.session_id else { return false };
        let is_over = self.exp.saturating_mul(1000) <= app.now();
        !is_over && !matches!(ended_session::has_ended(app, id).await, Ok(true))
    }
}

//! Sessions: sockets and event streams that stay open, which are counted, bounded, and asked to leave at the end.

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

/// How long sessions take to leave, one after the other, so that not all come back at once.
const SPREAD: Duration = Duration::from_secs(3);

/// How long a socket or event stream may go on after its user has signed out of the desk.
const SIGNED_OUT_WITHIN: Duration = Duration::from_secs(10);

/// All sessions of a server.
#[derive(Clone, Debug)]
pub struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: Arc<App>,
    open: Mutex<Counts<Who>>,
    /// How many there are, and whether they are to leave.
    count: watch::Sender<u32>,
    /// How many of them have not shown a token yet.
    newcomers: AtomicU32,
    /// Whether somebody should look for another node already.
    is_draining: AtomicBool,
    is_stopping: watch::Sender<bool>,
}

/// The least that newcomers may have.
const NEWCOMERS: u32 = 10;

/// Room for one of them, until it is dropped; nobody need know yet whose it will be.
#[derive(Debug)]
pub struct Place {
    sessions: Sessions,
    is_newcomers: bool,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Session {
    place: Place,
    who: Who,
}

impl Sessions {
    /// None yet.
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

    /// Room for one more; `UNAVAILABLE` where this node has as many as it may.
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

    /// Room for one more of whom no token is known yet. A tenth is for them all together, so that they leave room for others.
    pub fn place_of_newcomer(&self) -> Result<Place> {
        let Inner { app, newcomers, .. } = &*self.0;
        let most = (app.config.sessions / 10).max(NEWCOMERS);
        let more = |count| (count < most).then_some(count + 1);
        if newcomers.fetch_update(Relaxed, Relaxed, more).is_err() {
            return Err(Error::Unavailable(format!("{most} sockets have not shown a token yet")));
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

    /// This node is about to stop: new ones are still let in, but should rather go elsewhere.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Relaxed);
    }

    /// Whether it is.
    pub fn are_draining(&self) -> bool {
        self.0.is_draining.load(Relaxed)
    }

    /// Asks all of them to leave.
    pub fn stop(&self) {
        self.0.is_stopping.send_replace(true);
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

impl Place {
    /// The session of a viewer who takes it; `UNAVAILABLE` where they have as many as they may.
    pub fn taken(mut self, viewer: &Viewer) -> Result<Session> {
        let who = viewer.who();
        let Inner { app, open, .. } = &*self.sessions.0;
        let most = app.config.sessions_per_user;
        let mut open = open.lock();
        if open.of(&who) >= most as usize {
            return Err(Error::Unavailable(format!("at most {most} sessions a user at the same time")));
        }
        open.add(who.clone(), 1);
        drop(open);
        app.pulse.comes(who.0);
        self.comes_in();
        Ok(Session { place: self, who })
    }
}

impl Place {
    /// It is nobody's any more who has not shown a token.
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

/// The credential of a socket, and how long it is valid.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Seconds since 1970.
    exp: i64,
    /// That of a cookie's session, which its user may end before.
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

    /// How long it counts from now on without another look, at most a year: that is as good as for ever, and can be added to an instant.
    pub fn left(&self, app: &App) -> Duration {
        let left = self.exp.saturating_mul(1000).saturating_sub(app.now()).max(0);
        let most = if self.session_id.is_some() { SIGNED_OUT_WITHIN } else { Duration::from_hours(24 * 365) };
        Duration::from_millis(left.unsigned_abs()).min(most)
    }

    /// What to say where it counts no more.
    pub fn ended(&self) -> &'static str {
        if self.session_id.is_some() { "the session has ended: sign in again" } else { "the token has expired" }
    }

    /// Whether it is still valid. If the database cannot be asked, it is.
    pub async fn counts(&self, app: &App) -> bool {
        let Some(id) = &self.session_id else { return false };
        let is_over = self.exp.saturating_mul(1000) <= app.now();
        !is_over && !matches!(ended_session::has_ended(app, id).await, Ok(true))
    }
}

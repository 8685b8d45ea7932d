//! Who of those connected is in which view, and what has last been told of it.
//!
//! Only users with a session that is about views, or with an overview that holds them, are in it. A notice names views, and
//! users of views; which of the connected users that concerns is known here, and what they all see then is read together.
//! What is read is compared with what was told, so that it does not matter why, or how often, it is looked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use entity::ids::{UserId, ViewId};
use tokio::time::Instant;

use super::event::Reader;
use super::looks::{Due, Looks};
use super::mailbox::End;
use super::members::{Members, take};
use crate::app::App;
use crate::domain::view::{self, Sight, Unseen};
use crate::error::Result;
use crate::hub::Notice;
use crate::telemetry::metrics::Metrics;

/// Users whose views are read at once, however many each is in.
const USERS: usize = 200;

/// Whatever may have been told, everybody's views are looked at once in so many seconds.
///
/// What happens in a view has no place in the log by which a notice could be missed, and a node may end between a commit
/// and its notice.
const TURNS: i64 = 30;

/// How often everybody's views are looked at at most when something may have been missed.
const ALL_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Audience {
    viewers: HashMap<UserId, Viewer>,
    members: BTreeSet<(ViewId, UserId)>,
    /// It is not known, or not certain any more, what they see.
    strangers: HashSet<UserId>,
    looks: Looks,
    /// Nobody is certain any more.
    is_doubtful: bool,
    /// Everybody was looked at a moment ago, and is not again until then.
    rests_until: Option<Instant>,
    turn: i64,
}

/// A user with sessions.
#[derive(Debug, Default)]
struct Viewer {
    readers: Vec<Reader>,
    /// Sessions with an overview that holds views.
    overviews: Vec<u64>,
    /// What they were last told of each of their views: nothing where that is not certain, and nothing at all until it is
    /// first read.
    told: Option<HashMap<ViewId, Option<Unseen>>>,
    /// From here on every change is noticed.
    is_introduced: bool,
}

impl Audience {
    pub fn is_empty(&self) -> bool {
        self.viewers.is_empty()
    }

    /// A session comes that knows what its user had `seen` a moment ago. What has changed since is told.
    pub fn attend(&mut self, user: UserId, reader: Reader, seen: HashMap<ViewId, Unseen>) {
        self.strangers.insert(user);
        let viewer = self.viewers.entry(user).or_default();
        viewer.readers.push(reader);
        let seen = seen.into_iter().map(|(view, unseen)| (view, Some(unseen))).collect();
        let Some(told) = &mut viewer.told else {
            self.members.extend(HashMap::keys(&seen).map(|view| (*view, user)));
            viewer.told = Some(seen);
            return;
        };
        // What the others were not told yet, or this one does not know yet, is told to all.
        for view in differences(told, &seen) {
            told.insert(view, None);
            self.members.insert((view, user));
        }
    }

    /// A session comes whose overview holds views. What changes in them is a change of the overview.
    pub fn count(&mut self, user: UserId, session: u64) {
        let viewer = self.viewers.entry(user).or_default();
        viewer.overviews.push(session);
        if viewer.told.is_none() {
            self.strangers.insert(user);
        }
    }

    pub fn leave(&mut self, user: UserId, session: u64) {
        let Some(viewer) = self.viewers.get_mut(&user) else { return };
        viewer.readers.retain(|of| of.session != session);
        viewer.overviews.retain(|of| *of != session);
        if viewer.readers.is_empty() && viewer.overviews.is_empty() {
            self.forget(user);
        }
    }

    /// Ends all sessions of somebody who is no user any more; their seats are given up by themselves.
    pub fn erase(&mut self, user: UserId) {
        for reader in self.forget(user) {
            reader.pile.end(End::Gone);
        }
    }

    /// Ends all sessions, which may come again.
    pub fn end(&mut self) {
        for viewer in std::mem::take(self).viewers.into_values() {
            viewer.readers.iter().for_each(|reader| reader.pile.end(End::Lost));
        }
    }

    fn forget(&mut self, user: UserId) -> Vec<Reader> {
        let Some(viewer) = self.viewers.remove(&user) else { return Vec::new() };
        for view in viewer.told.iter().flat_map(HashMap::keys) {
            self.members.remove(&(*view, user));
        }
        self.strangers.remove(&user);
        viewer.readers
    }

    pub fn hear(&mut self, notice: &Notice) {
        self.is_doubtful |= notice.everybody || notice.all_views;
        for &view in &notice.views {
            if self.members_of(view).next().is_some() {
                self.looks.at(view).is_for_all = true;
            }
        }
        for &(user, view) in &notice.visits {
            if self.viewers.contains_key(&user) {
                self.looks.at(view).users.insert(user);
            }
        }
    }

    /// Once a second, for what was never told.
    pub fn doubt_some(&mut self) {
        self.turn = (self.turn + 1) % TURNS;
        let turn = self.turn;
        self.strangers.extend(self.viewers.keys().filter(|user| user.0.rem_euclid(TURNS) == turn));
    }

    fn members_of(&self, view: ViewId) -> impl Iterator<Item = UserId> {
        self.members.range((view, UserId(i64::MIN))..=(view, UserId(i64::MAX))).map(|(_, user)| *user)
    }

    /// When there is something to do, if there is anything.
    pub fn next_look(&self, now: Instant) -> Option<Instant> {
        let strangers = (!self.strangers.is_empty()).then_some(now);
        let all = self.is_doubtful.then(|| self.rests_until.unwrap_or(now));
        [strangers, all, self.looks.next(now)].into_iter().flatten().min()
    }

    /// A part of what there is to do, in two statements at the most (but one for every 1,000 members of a view). What fails
    /// is still to be done.
    pub async fn step(&mut self, app: &App, members: &mut Members) -> Result<()> {
        let now = Instant::now();
        if self.is_doubtful && self.rests_until.is_none_or(|until| until <= now) {
            self.strangers.extend(self.viewers.keys());
            self.is_doubtful = false;
            self.rests_until = Some(now + ALL_EVERY);
        }
        let strangers = take(&mut self.strangers, USERS);
        if !strangers.is_empty() {
            match view::unseen_by(app, &strangers).await {
                Ok(unseen) => self.introduce(&strangers, unseen, members),
                Err(error) => {
                    self.strangers.extend(strangers);
                    return Err(error);
                }
            }
        }
        let mut looks = std::mem::take(&mut self.looks);
        let together = looks.take(Instant::now(), |view, due| self.concerned(view, due));
        self.looks = looks;
        if together.views.is_empty() {
            return Ok(());
        }
        let views: Vec<ViewId> = together.views.iter().map(|(view, _)| *view).collect();
        let users: Vec<UserId> = together.users.iter().copied().collect();
        match view::sights(app, &views, &users).await {
            Ok(sights) => {
                for (view, user) in together.views.iter().flat_map(|(view, of)| of.iter().map(|user| (*view, *user))) {
                    if self.show(&app.metrics, view, user, sights.get(&(view, user))) {
                        members.views_changed(user);
                    }
                }
                Ok(())
            }
            Err(error) => {
                self.looks.put_back(together);
                Err(error)
            }
        }
    }

    /// Who of those a look is for is connected.
    fn concerned(&self, view: ViewId, due: Due) -> HashSet<UserId> {
        let mut users = due.users;
        if due.is_for_all {
            users.extend(self.members_of(view));
        }
        users.retain(|user| self.viewers.contains_key(user));
        users
    }

    /// Looks at what users see differently from what they were told.
    fn introduce(
        &mut self,
        users: &[UserId],
        mut unseen: HashMap<UserId, HashMap<ViewId, Unseen>>,
        members: &mut Members,
    ) {
        for &user in users {
            let Some(viewer) = self.viewers.get_mut(&user) else { continue };
            if !std::mem::replace(&mut viewer.is_introduced, true) {
                // Their overview may be from before.
                members.changed(user);
            }
            let now: HashMap<ViewId, Option<Unseen>> =
                unseen.remove(&user).into_iter().flatten().map(|(view, unseen)| (view, Some(unseen))).collect();
            if let Some(told) = &viewer.told {
                for view in differences(told, &now) {
                    self.looks.at(view).users.insert(user);
                }
            } else {
                self.members.extend(now.keys().map(|view| (*view, user)));
                viewer.told = Some(now);
            }
        }
    }

    /// Tells a user's sessions how they see a view now, if that is not what they were told. Whether it is not.
    ///
    /// A view that was swept is told to nobody: there was nothing to be seen of it for a year.
    fn show(&mut self, metrics: &Metrics, view: ViewId, user: UserId, sight: Option<&Sight>) -> bool {
        let Some(viewer) = self.viewers.get_mut(&user) else { return false };
        let Some(told) = &mut viewer.told else { return false };
        let now = sight.and_then(Sight::unseen);
        if told.get(&view).copied() == now.map(Some) {
            return false;
        }
        if now.is_some() {
            told.insert(view, now);
            self.members.insert((view, user));
        } else {
            told.remove(&view);
            self.members.remove(&(view, user));
        }
        let Some(sight) = sight else { return true };
        for reader in &viewer.readers {
            if reader.keys.as_ref().is_none_or(|keys| keys.contains(sight.key())) {
                reader.pile.put(view, sight.clone());
                metrics.views_delivered.inc();
            }
        }
        true
    }
}

/// The views that are not the same in both.
fn differences(one: &HashMap<ViewId, Option<Unseen>>, other: &HashMap<ViewId, Option<Unseen>>) -> Vec<ViewId> {
    let all: HashSet<&ViewId> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|view| one.get(view) != other.get(view)).copied().collect()
}

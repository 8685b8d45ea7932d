//! The connected users who follow views, their views, and the state last sent of each.
//!
//! Only users with a view session, or with an overview that includes views, are here. A notice names views, and users
//! of views; this module finds the connected users concerned and reads their states together. It compares each state
//! with the one last sent, so an unnecessary read does no harm. If a user may have joined a view and left it again in
//! between, the session gets that change too.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use entity::ids::{UserId, ViewId};
use tokio::time::Instant;

use super::event::ViewSession;
use super::fair_queue::FairQueue;
use super::mailbox::SessionEnd;
use super::members::RoomMembers;
use super::view_queue::{DueUsers, ViewQueue};
use base::error::Result;
use base::telemetry::metrics::Metrics;
use cluster::hub::Notice;
use domain::view::{self, MemberPosition, ViewState};
use store::Store;

/// Users per read of all their views, regardless of how many views each has.
const USERS: usize = 200;

/// Each user's views are read again once in this many seconds, even without a notice.
///
/// Views have no log position that would reveal a lost notice, and a node may die between a commit and its notice.
const TURNS: i64 = 30;

/// The minimum time between two reads of all users' views, when notices may have been lost.
const ALL_EVERY: Duration = Duration::from_secs(1);

/// The connected users who follow views.
#[derive(Debug, Default)]
pub(super) struct ViewMembers {
    users: HashMap<UserId, ViewMember>,
    /// The users of each view.
    by_view: BTreeSet<(ViewId, UserId)>,
    /// Users with views that are not known yet, or may have changed.
    unknown: FairQueue,
    queue: ViewQueue,
    /// All users' views may have changed.
    is_doubtful: bool,
    /// No read of all users' views before this time.
    rests_until: Option<Instant>,
    turn: i64,
}

/// A user with sessions.
#[derive(Debug, Default)]
struct ViewMember {
    sessions: Vec<ViewSession>,
    /// Sessions with an overview that includes views.
    overviews: Vec<u64>,
    /// The state last sent of each view: `None` if it is uncertain, so that the next one read is sent. `None` as a
    /// whole until the views are first read.
    told: Option<HashMap<ViewId, Option<MemberPosition>>>,
    /// Whether the views were read since the user joined. From then on the room notices every change.
    is_known: bool,
}

impl ViewMembers {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Adds a session that has just read its user's views (`seen`). Later changes are sent to it.
    pub fn join(&mut self, user: UserId, session: ViewSession, seen: HashMap<ViewId, MemberPosition>) {
        self.unknown.insert(user);
        let member = self.users.entry(user).or_default();
        member.sessions.push(session);
        let seen = seen.into_iter().map(|(view, of)| (view, Some(of))).collect();
        let Some(told) = &mut member.told else {
            self.by_view.extend(HashMap::keys(&seen).map(|view| (*view, user)));
            member.told = Some(seen);
            return;
        };
        // If the sessions know different states of a view, the next state read is sent to all of them.
        for view in changed_views(told, &seen) {
            told.insert(view, None);
            self.by_view.insert((view, user));
        }
    }

    /// Adds a session with an overview that includes views. A change of a view then counts as a change of the overview.
    pub fn join_overview(&mut self, user: UserId, session: u64) {
        let member = self.users.entry(user).or_default();
        member.overviews.push(session);
        if member.told.is_none() {
            self.unknown.insert(user);
        }
    }

    pub fn leave(&mut self, user: UserId, session: u64) {
        let Some(member) = self.users.get_mut(&user) else { return };
        member.sessions.retain(|of| of.number != session);
        member.overviews.retain(|of| *of != session);
        if member.sessions.is_empty() && member.overviews.is_empty() {
            self.remove_member(user);
        }
    }

    /// Ends all sessions of an erased user. Each then leaves by itself.
    pub fn remove_erased(&mut self, user: UserId) {
        for session in self.remove_member(user) {
            session.slots.close(SessionEnd::Gone);
        }
    }

    /// Ends all sessions. Their clients may subscribe again.
    pub fn end_sessions(&mut self) {
        for member in std::mem::take(self).users.into_values() {
            member.sessions.iter().for_each(|session| session.slots.close(SessionEnd::Lost));
        }
    }

    fn remove_member(&mut self, user: UserId) -> Vec<ViewSession> {
        let Some(member) = self.users.remove(&user) else { return Vec::new() };
        for view in member.told.iter().flat_map(HashMap::keys) {
            self.by_view.remove(&(*view, user));
        }
        self.unknown.remove(user);
        member.sessions
    }

    pub fn handle_notice(&mut self, notice: &Notice) {
        self.is_doubtful |= notice.everybody || notice.all_views;
        for &view in &notice.views {
            if self.users_of_view(view).next().is_some() {
                self.queue.enqueue(view).is_for_all = true;
            }
        }
        for &(user, view) in notice.visits.iter().chain(&notice.joins) {
            if self.users.contains_key(&user) {
                self.queue.enqueue(view).users.insert(user);
            }
        }
        for &(user, view) in &notice.joins {
            // The user may have left again already, and a client may have read the view in between.
            if let Some(told) = self.users.get_mut(&user).and_then(|member| member.told.as_mut()) {
                told.entry(view).or_insert(None);
                self.by_view.insert((view, user));
            }
        }
    }

    /// Marks a thirtieth of the users as stale; called once a second.
    pub fn mark_stale_shard(&mut self) {
        self.turn = (self.turn + 1) % TURNS;
        let turn = self.turn;
        self.unknown.extend(self.users.keys().filter(|user| user.0.rem_euclid(TURNS) == turn).copied());
    }

    fn users_of_view(&self, view: ViewId) -> impl Iterator<Item = UserId> {
        self.by_view.range((view, UserId(i64::MIN))..=(view, UserId(i64::MAX))).map(|(_, user)| *user)
    }

    /// When there is work next, or `None` if there is none.
    pub fn next_read_at(&self, now: Instant) -> Option<Instant> {
        let unknown = (!self.unknown.is_empty()).then_some(now);
        let all = self.is_doubtful.then(|| self.rests_until.unwrap_or(now));
        [unknown, all, self.queue.next_read_at(now)].into_iter().flatten().min()
    }

    /// Does a part of the pending work, in at most two statements (but one per 1,000 members of a view). Work that
    /// fails stays pending.
    pub async fn run_step(&mut self, store: &Store, members: &mut RoomMembers) -> Result<()> {
        let now = Instant::now();
        if self.is_doubtful && self.rests_until.is_none_or(|until| until <= now) {
            self.unknown.extend(self.users.keys().copied());
            self.is_doubtful = false;
            self.rests_until = Some(now + ALL_EVERY);
        }
        let unknown = self.unknown.take_next(USERS);
        if !unknown.is_empty() {
            match view::load_positions(store, &unknown).await {
                Ok(standings) => self.update_standings(&unknown, standings, members),
                Err(error) => {
                    self.unknown.extend(unknown);
                    return Err(error);
                }
            }
        }
        let mut queue = std::mem::take(&mut self.queue);
        let batch = queue.take_batch(Instant::now(), |view, due| self.affected_users(view, due));
        self.queue = queue;
        if batch.views.is_empty() {
            return Ok(());
        }
        let views: Vec<ViewId> = batch.views.iter().map(|(view, _)| *view).collect();
        let users: Vec<UserId> = batch.users.iter().copied().collect();
        match view::load_states(store, &views, &users).await {
            Ok(states) => {
                for (view, user) in batch.views.iter().flat_map(|(view, of)| of.iter().map(|user| (*view, *user))) {
                    self.send_state(&store.metrics, view, user, states.get(&(view, user)), members);
                }
                Ok(())
            }
            Err(error) => {
                self.queue.put_back(batch);
                Err(error)
            }
        }
    }

    /// The connected users who need a view to be read.
    fn affected_users(&self, view: ViewId, due: DueUsers) -> HashSet<UserId> {
        let mut users = due.users;
        if due.is_for_all {
            users.extend(self.users_of_view(view));
        }
        users.retain(|user| self.users.contains_key(user));
        users
    }

    /// Queues the views that differ from the state last sent.
    fn update_standings(
        &mut self,
        users: &[UserId],
        mut standings: HashMap<UserId, HashMap<ViewId, MemberPosition>>,
        members: &mut RoomMembers,
    ) {
        for &user in users {
            let Some(member) = self.users.get_mut(&user) else { continue };
            if !std::mem::replace(&mut member.is_known, true) {
                // The overview may have been read before the user joined.
                members.mark_changed(user);
            }
            let now: HashMap<ViewId, Option<MemberPosition>> =
                standings.remove(&user).into_iter().flatten().map(|(view, of)| (view, Some(of))).collect();
            if let Some(told) = &member.told {
                for view in changed_views(told, &now) {
                    self.queue.enqueue(view).users.insert(user);
                }
            } else {
                self.by_view.extend(now.keys().map(|view| (*view, user)));
                member.told = Some(now);
            }
        }
    }

    /// Sends a user's state of a view to their sessions and overviews, unless it was sent before.
    ///
    /// A view that was swept is not announced: it was unused for a year.
    fn send_state(
        &mut self,
        metrics: &Metrics,
        view: ViewId,
        user: UserId,
        state: Option<&ViewState>,
        members: &mut RoomMembers,
    ) {
        let Some(member) = self.users.get_mut(&user) else { return };
        let Some(told) = &mut member.told else { return };
        let now = state.and_then(ViewState::member_position);
        if told.get(&view).copied() == now.map(Some) {
            return;
        }
        members.mark_views_changed(user);
        if now.is_some() {
            told.insert(view, now);
            self.by_view.insert((view, user));
        } else {
            told.remove(&view);
            self.by_view.remove(&(view, user));
        }
        let Some(state) = state else { return };
        for session in &member.sessions {
            if session.keys.as_ref().is_none_or(|keys| keys.contains(state.key())) {
                session.slots.put(view, state.clone());
                metrics.views_delivered.inc();
            }
        }
    }
}

/// The views with different states.
fn changed_views(
    one: &HashMap<ViewId, Option<MemberPosition>>,
    other: &HashMap<ViewId, Option<MemberPosition>>,
) -> Vec<ViewId> {
    let all: HashSet<&ViewId> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|view| one.get(view) != other.get(view)).copied().collect()
}

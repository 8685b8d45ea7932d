//! The users in a room, their channels, and the work that is pending for them.

mod overviews;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use entity::ids::{ChannelId, Seq, TypeId, UserId};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::event::SessionKind;
use super::fair_queue::FairQueue;
use super::mailbox::{Mailbox, SessionEnd};
use super::overview_interner::OverviewInterner;
use super::overview_session::OverviewSession;
use base::error::Error;
use base::telemetry::metrics::Metrics;
use domain::inbox::UserItem;
use model::int_map::IntegerKeyMap;

/// Back-off for users with locked rows. It starts short, since most locks last for one statement, and doubles.
const AGAIN: Range<Duration> = Duration::from_millis(10)..Duration::from_millis(250);

/// Each user's subscriptions and overview are read again once in this many seconds, even without a notice.
///
/// Marks, texts and subscriptions have no log position that would reveal a lost notice, and a node may die between a
/// commit and its notice.
const TURNS: i64 = 60;

/// The connected users and the work that is pending for them.
///
/// A user may be in several of the sets.
#[derive(Debug, Default)]
pub(super) struct RoomMembers {
    users: IntegerKeyMap<UserId, RoomMember>,
    listeners: BTreeSet<(ChannelId, UserId)>,
    /// Their channels are not known yet, or may have changed.
    unknown: FairQueue,
    /// They have new items addressed to them by name, which go first.
    named: FairQueue,
    news: FairQueue,
    /// Their overview may have changed in any way.
    changed: HashSet<UserId>,
    /// Only the views in their overview may have changed.
    views_changed: HashSet<UserId>,
    /// Their overview has changed in memory, and was not shown yet.
    counted: HashSet<UserId>,
    /// Their rows are locked by another transaction.
    held: HashMap<UserId, LockRetry>,
    alike: OverviewInterner,
    turn: i64,
}

/// A user with sessions.
#[derive(Debug, Default)]
struct RoomMember {
    /// Sorted. `None` until they are first read.
    channels: Option<Vec<ChannelId>>,
    /// Mostly one or none, which is stored inline.
    items: SmallVec<[ItemSession; 1]>,
    /// Mostly one or none, which is stored inline.
    overviews: SmallVec<[OverviewSession; 1]>,
    /// Items up to here were handed out.
    delivered: Seq,
    /// No overview is sent before this time.
    rests_until: Option<Instant>,
}

/// When to try a user with locked rows again. No overview is sent before that.
#[derive(Clone, Copy, Debug)]
struct LockRetry {
    until: Instant,
    /// The back-off after the next failure.
    patience: Duration,
}

#[derive(Debug)]
struct ItemSession {
    number: u64,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<UserItem>>,
}

impl RoomMembers {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    pub fn join(&mut self, user: UserId, session: u64, from: Seq, want: SessionKind) {
        self.unknown.insert(user);
        self.named.insert(user);
        let member = self.users.entry(user).or_default();
        match want {
            SessionKind::Items { types, mailbox } => {
                // Other sessions get some items again, and skip them by their seq.
                member.delivered = if member.items.is_empty() { from } else { member.delivered.min(from) };
                member.items.push(ItemSession { number: session, types, mailbox });
            }
            SessionKind::Overviews { wish, slot } => {
                member.overviews.push(OverviewSession::new(session, wish, slot));
                member.rests_until = None;
                self.changed.insert(user);
            }
        }
    }

    pub fn leave(&mut self, user: UserId, session: u64) {
        let Some(member) = self.users.get_mut(&user) else { return };
        member.items.retain(|of| of.number != session);
        member.overviews.retain(|of| of.number != session);
        if member.items.is_empty() && member.overviews.is_empty() {
            self.remove_member(user);
        }
    }

    /// Ends all sessions of an erased user. Each then leaves by itself.
    pub fn remove_erased(&mut self, user: UserId) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in member.items.drain(..) {
            session.mailbox.close(SessionEnd::Gone);
        }
        for session in member.overviews.drain(..) {
            session.slot.put(Err(Error::not_found("user", "of this session")));
        }
        self.remove_member(user);
    }

    /// Ends all sessions. Their clients may subscribe again.
    pub fn end_sessions(&mut self) {
        for member in std::mem::take(self).users.into_values() {
            member.items.iter().for_each(|session| session.mailbox.close(SessionEnd::Lost));
            member.overviews.iter().for_each(|session| session.slot.put(Err(SessionEnd::lost_error())));
        }
    }

    fn remove_member(&mut self, user: UserId) {
        for channel in self.users.remove(&user).and_then(|member| member.channels).unwrap_or_default() {
            self.listeners.remove(&(channel, user));
        }
        let Self { unknown, named, news, changed, views_changed, counted, .. } = self;
        for waiting in [unknown, named, news] {
            waiting.remove(user);
        }
        for set in [changed, views_changed, counted] {
            set.remove(&user);
        }
        self.held.remove(&user);
    }

    /// Stores the channels of users. If they changed, earlier publications may be new to the user.
    pub fn set_channels(&mut self, users: &[UserId], mut channels: HashMap<UserId, Vec<ChannelId>>) {
        for &user in users {
            let Some(member) = self.users.get_mut(&user) else { continue };
            let mut channels = channels.remove(&user).unwrap_or_default();
            channels.sort_unstable();
            if member.channels.as_ref() == Some(&channels) {
                continue;
            }
            self.listeners.extend(channels.iter().map(|channel| (*channel, user)));
            for channel in member.channels.replace(channels.clone()).unwrap_or_default() {
                if channels.binary_search(&channel).is_err() {
                    self.listeners.remove(&(channel, user));
                }
            }
            self.mark_new_items(user);
        }
    }

    /// Marks a sixtieth of the users as stale; called once a second. Returns true once a round is complete.
    pub fn mark_stale_shard(&mut self) -> bool {
        self.turn = (self.turn + 1) % TURNS;
        let turn = self.turn;
        let some: Vec<UserId> = self.users.keys().filter(|user| user.0.rem_euclid(TURNS) == turn).copied().collect();
        for user in some {
            self.unknown.insert(user);
            self.mark_changed(user);
        }
        turn == 0
    }

    /// Drops interned overviews that no session holds.
    pub fn remove_unused(&mut self) {
        self.alike.remove_unused();
    }

    pub fn mark_new_items(&mut self, user: UserId) {
        if self.users.contains_key(&user) {
            self.named.insert(user);
        }
    }

    pub fn mark_channel_new_items(&mut self, channel: ChannelId) {
        let range = (channel, UserId(i64::MIN))..=(channel, UserId(i64::MAX));
        self.news.extend(self.listeners.range(range).map(|(_, user)| *user));
    }

    pub fn mark_all_new_items(&mut self) {
        self.news.extend(self.users.keys().copied());
    }

    pub fn mark_changed(&mut self, user: UserId) {
        if self.users.get(&user).is_some_and(RoomMember::has_overview_session) {
            self.changed.insert(user);
        }
    }

    pub fn mark_all_changed(&mut self) {
        self.changed.extend(self.users_with_overviews());
    }

    /// The users with an overview session.
    pub fn users_with_overviews(&self) -> Vec<UserId> {
        let users = self.users.iter().filter(|(_, member)| member.has_overview_session());
        users.map(|(user, _)| *user).collect()
    }

    pub fn mark_channels_stale(&mut self, user: UserId) {
        if self.users.contains_key(&user) {
            self.unknown.insert(user);
        }
    }

    /// Whether there is work, now or later.
    pub fn has_any_work(&self) -> bool {
        !self.unknown.is_empty() || self.has_new_items() || self.has_changed_overviews() || !self.held.is_empty()
    }

    /// Whether there is work now.
    pub fn has_work(&self, now: Instant) -> bool {
        let next = [self.next_overview_at(now), self.next_retry_at()].into_iter().flatten().min();
        !self.unknown.is_empty() || self.has_new_items() || next.is_some_and(|at| at <= now)
    }

    /// Whether there are new items to hand out.
    pub fn has_new_items(&self) -> bool {
        !(self.named.is_empty() && self.news.is_empty())
    }

    /// Whether an overview may have changed.
    pub fn has_changed_overviews(&self) -> bool {
        !(self.changed.is_empty() && self.views_changed.is_empty() && self.counted.is_empty())
    }

    /// When the first of the changed overviews may be sent.
    pub fn next_overview_at(&self, now: Instant) -> Option<Instant> {
        let users = self.changed.iter().chain(&self.views_changed).chain(&self.counted);
        users.map(|user| self.overview_paused_until(*user)).min().map(|at| at.unwrap_or(now))
    }

    fn overview_paused_until(&self, user: UserId) -> Option<Instant> {
        let shown = self.users.get(&user).and_then(|member| member.rests_until);
        shown.max(self.held.get(&user).map(|held| held.until))
    }

    pub fn take_without_channels(&mut self, most: usize) -> Vec<UserId> {
        self.unknown.take_next(most)
    }

    /// Users with new items. Users addressed by name come first, but get at most half of the batch while others wait.
    pub fn take_with_new_items(&mut self, most: usize) -> Vec<UserId> {
        let mut users = self.named.take_next(if self.news.is_empty() { most } else { most / 2 });
        for &user in &users {
            self.news.remove(user);
        }
        let others = self.news.take_next(most - users.len());
        for &user in &others {
            self.named.remove(user);
        }
        users.extend(others);
        users
    }

    /// The users who need new items up to `end`, grouped by how far back each must read, within a power of two.
    /// `counts` says whether new items may be added to known overviews.
    pub fn group_by_gap(&mut self, users: &[UserId], end: Seq, counts: bool) -> Vec<(Seq, Vec<UserId>)> {
        let mut by_gap: BTreeMap<u32, (Seq, Vec<UserId>)> = BTreeMap::new();
        for user in users {
            let Some(member) = self.users.get(user) else { continue };
            let mut from = (!member.items.is_empty()).then_some(member.delivered);
            if member.has_overview_session() {
                let known = member.overviews.iter().map(OverviewSession::overview_seq);
                match known.min().flatten().filter(|_| counts && !self.changed.contains(user)) {
                    Some(known) => from = Some(from.map_or(known, |from| from.min(known))),
                    None => drop(self.changed.insert(*user)),
                }
            }
            let Some(from) = from.filter(|from| *from < end) else { continue };
            let (after, users) = by_gap.entry((end.0 - from.0).ilog2()).or_insert((end, Vec::new()));
            *after = (*after).min(from);
            users.push(*user);
        }
        by_gap.into_values().collect()
    }

    /// Hands a user's new items up to `end`, oldest first, to the sessions that do not have them yet: items to item
    /// sessions, and an updated overview to overview sessions.
    pub fn deliver_items(&mut self, metrics: &Metrics, user: UserId, items: &[UserItem], (end, now): (Seq, Instant)) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for item in items.iter().filter(|item| item.seq > member.delivered) {
            let kind = item.content.message_type.id;
            member.items.retain(|session| {
                if session.types.as_ref().is_some_and(|types| !types.contains(&kind)) {
                    return true;
                }
                metrics.items_delivered.inc();
                let keeps_up = session.mailbox.put(item.clone());
                if !keeps_up {
                    metrics.slow_readers.inc();
                }
                keeps_up
            });
        }
        member.delivered = member.delivered.max(end);
        if !member.has_overview_session() || self.changed.contains(&user) {
            return;
        }
        let mut is_right = true;
        for session in &mut member.overviews {
            is_right &= session.add_items(items, end, &mut self.alike);
        }
        if !is_right {
            self.changed.insert(user);
        } else if !items.is_empty() {
            let rests_until = member.rests_until.max(self.held.get(&user).map(|held| held.until));
            if rests_until.is_some_and(|until| until > now) || self.views_changed.contains(&user) {
                self.counted.insert(user);
                return;
            }
            member.send_overviews(metrics, now);
            if !self.counted.is_empty() {
                self.counted.remove(&user);
            }
        }
    }

    /// Notes which of these users have locked rows. They are tried again after a back-off; others do not wait for them.
    pub fn record_locked(&mut self, users: &[UserId], held: &HashSet<UserId>, now: Instant) {
        if held.is_empty() && self.held.is_empty() {
            return;
        }
        for user in users.iter().filter(|user| self.users.contains_key(user)) {
            if !held.contains(user) {
                self.held.remove(user);
                continue;
            }
            let patience = self.held.get(user).map_or(AGAIN.start, |before| before.patience);
            let next = (2 * patience).min(AGAIN.end);
            self.held.insert(*user, LockRetry { until: now + patience, patience: next });
        }
    }

    /// When the first users with locked rows are tried again.
    pub fn next_retry_at(&self) -> Option<Instant> {
        self.held.values().map(|held| held.until).min()
    }

    /// Queues users with locked rows that are due for another try.
    pub fn queue_retries(&mut self, now: Instant) {
        self.named.extend(self.held.iter().filter(|(_, held)| held.until <= now).map(|(user, _)| *user));
    }
}

//! The users in a room, their channels, and the work that is pending for them.

mod overviews;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use entity::ids::{ChannelId, Seq, TypeId, UserId};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::alike::Alike;
use super::event::Want;
use super::mailbox::{End, Mailbox};
use super::overview_session::OverviewSession;
use super::waiting::Waiting;
use crate::domain::inbox::Item;
use crate::error::Error;
use crate::model::number::ByNumber;
use crate::telemetry::metrics::Metrics;

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
pub(super) struct Members {
    users: ByNumber<UserId, Member>,
    listeners: BTreeSet<(ChannelId, UserId)>,
    /// Their channels are not known yet, or may have changed.
    unknown: Waiting,
    /// They have new items addressed to them by name, which go first.
    named: Waiting,
    news: Waiting,
    /// Their overview may have changed in any way.
    changed: HashSet<UserId>,
    /// Only the views in their overview may have changed.
    views_changed: HashSet<UserId>,
    /// Their overview has changed in memory, and was not shown yet.
    counted: HashSet<UserId>,
    /// Their rows are locked by another transaction.
    held: HashMap<UserId, Held>,
    alike: Alike,
    turn: i64,
}

/// A user with sessions.
#[derive(Debug, Default)]
struct Member {
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
struct Held {
    until: Instant,
    /// The back-off after the next failure.
    patience: Duration,
}

#[derive(Debug)]
struct ItemSession {
    number: u64,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<Item>>,
}

impl Members {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    pub fn join(&mut self, user: UserId, session: u64, from: Seq, want: Want) {
        self.unknown.insert(user);
        self.named.insert(user);
        let member = self.users.entry(user).or_default();
        match want {
            Want::Items { types, mailbox } => {
                // Other sessions get some items again, and skip them by their seq.
                member.delivered = if member.items.is_empty() { from } else { member.delivered.min(from) };
                member.items.push(ItemSession { number: session, types, mailbox });
            }
            Want::Overviews { wish, slot } => {
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
            self.forget(user);
        }
    }

    /// Ends all sessions of an erased user. Each then leaves by itself.
    pub fn erase(&mut self, user: UserId) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in member.items.drain(..) {
            session.mailbox.end(End::Gone);
        }
        for session in member.overviews.drain(..) {
            session.slot.put(Err(Error::not_found("user", "of this session")));
        }
        self.forget(user);
    }

    /// Ends all sessions. Their clients may subscribe again.
    pub fn end(&mut self) {
        for member in std::mem::take(self).users.into_values() {
            member.items.iter().for_each(|session| session.mailbox.end(End::Lost));
            member.overviews.iter().for_each(|session| session.slot.put(Err(End::lost())));
        }
    }

    fn forget(&mut self, user: UserId) {
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
    pub fn learn(&mut self, users: &[UserId], mut channels: HashMap<UserId, Vec<ChannelId>>) {
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
            self.has_news(user);
        }
    }

    /// Marks a sixtieth of the users as stale; called once a second. Returns true once a round is complete.
    pub fn doubt_some(&mut self) -> bool {
        self.turn = (self.turn + 1) % TURNS;
        let turn = self.turn;
        let some: Vec<UserId> = self.users.keys().filter(|user| user.0.rem_euclid(TURNS) == turn).copied().collect();
        for user in some {
            self.unknown.insert(user);
            self.changed(user);
        }
        turn == 0
    }

    /// Drops interned overviews that no session holds.
    pub fn forget_old(&mut self) {
        self.alike.forget_old();
    }

    pub fn has_news(&mut self, user: UserId) {
        if self.users.contains_key(&user) {
            self.named.insert(user);
        }
    }

    pub fn channel_has_news(&mut self, channel: ChannelId) {
        let range = (channel, UserId(i64::MIN))..=(channel, UserId(i64::MAX));
        self.news.extend(self.listeners.range(range).map(|(_, user)| *user));
    }

    pub fn all_have_news(&mut self) {
        self.news.extend(self.users.keys().copied());
    }

    pub fn changed(&mut self, user: UserId) {
        if self.users.get(&user).is_some_and(Member::follows_overview) {
            self.changed.insert(user);
        }
    }

    pub fn all_changed(&mut self) {
        self.changed.extend(self.with_overviews());
    }

    /// The users with an overview session.
    pub fn with_overviews(&self) -> Vec<UserId> {
        let users = self.users.iter().filter(|(_, member)| member.follows_overview());
        users.map(|(user, _)| *user).collect()
    }

    pub fn listens_elsewhere(&mut self, user: UserId) {
        if self.users.contains_key(&user) {
            self.unknown.insert(user);
        }
    }

    /// Whether there is work, now or later.
    pub fn has_any_work(&self) -> bool {
        !self.unknown.is_empty() || self.anybody_has_news() || self.anybody_has_changed() || !self.held.is_empty()
    }

    /// Whether there is work now.
    pub fn has_work(&self, now: Instant) -> bool {
        let next = [self.next_overview(now), self.next_held()].into_iter().flatten().min();
        !self.unknown.is_empty() || self.anybody_has_news() || next.is_some_and(|at| at <= now)
    }

    /// Whether there are new items to hand out.
    pub fn anybody_has_news(&self) -> bool {
        !(self.named.is_empty() && self.news.is_empty())
    }

    /// Whether an overview may have changed.
    pub fn anybody_has_changed(&self) -> bool {
        !(self.changed.is_empty() && self.views_changed.is_empty() && self.counted.is_empty())
    }

    /// When the first of the changed overviews may be sent.
    pub fn next_overview(&self, now: Instant) -> Option<Instant> {
        let users = self.changed.iter().chain(&self.views_changed).chain(&self.counted);
        users.map(|user| self.rests_until(*user)).min().map(|at| at.unwrap_or(now))
    }

    fn rests_until(&self, user: UserId) -> Option<Instant> {
        let shown = self.users.get(&user).and_then(|member| member.rests_until);
        shown.max(self.held.get(&user).map(|held| held.until))
    }

    pub fn take_unknown(&mut self, most: usize) -> Vec<UserId> {
        self.unknown.take(most)
    }

    /// Users with new items. Users addressed by name come first, but get at most half of the batch while others wait.
    pub fn take_news(&mut self, most: usize) -> Vec<UserId> {
        let mut users = self.named.take(if self.news.is_empty() { most } else { most / 2 });
        for &user in &users {
            self.news.remove(user);
        }
        let others = self.news.take(most - users.len());
        for &user in &others {
            self.named.remove(user);
        }
        users.extend(others);
        users
    }

    /// The users who need new items up to `end`, grouped by how far back each must read, within a power of two.
    /// `counts` says whether new items may be added to known overviews.
    pub fn behind(&mut self, users: &[UserId], end: Seq, counts: bool) -> Vec<(Seq, Vec<UserId>)> {
        let mut by_gap: BTreeMap<u32, (Seq, Vec<UserId>)> = BTreeMap::new();
        for user in users {
            let Some(member) = self.users.get(user) else { continue };
            let mut from = (!member.items.is_empty()).then_some(member.delivered);
            if member.follows_overview() {
                let known = member.overviews.iter().map(OverviewSession::known_upto);
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
    pub fn hand_out(&mut self, metrics: &Metrics, user: UserId, items: &[Item], (end, now): (Seq, Instant)) {
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
        if !member.follows_overview() || self.changed.contains(&user) {
            return;
        }
        let mut is_right = true;
        for session in &mut member.overviews {
            is_right &= session.add(items, end, &mut self.alike);
        }
        if !is_right {
            self.changed.insert(user);
        } else if !items.is_empty() {
            let rests_until = member.rests_until.max(self.held.get(&user).map(|held| held.until));
            if rests_until.is_some_and(|until| until > now) || self.views_changed.contains(&user) {
                self.counted.insert(user);
                return;
            }
            member.show_known(metrics, now);
            if !self.counted.is_empty() {
                self.counted.remove(&user);
            }
        }
    }

    /// Notes which of these users have locked rows. They are tried again after a back-off; others do not wait for them.
    pub fn hold(&mut self, users: &[UserId], held: &HashSet<UserId>, now: Instant) {
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
            self.held.insert(*user, Held { until: now + patience, patience: next });
        }
    }

    /// When the first users with locked rows are tried again.
    pub fn next_held(&self) -> Option<Instant> {
        self.held.values().map(|held| held.until).min()
    }

    /// Queues users with locked rows that are due for another try.
    pub fn release(&mut self, now: Instant) {
        self.named.extend(self.held.iter().filter(|(_, held)| held.until <= now).map(|(user, _)| *user));
    }
}

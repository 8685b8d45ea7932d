//! Who is in a room, what they listen to, and for whom there is something to do.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use entity::ids::{ChannelId, Seq, TypeId, UserId};
use tokio::time::Instant;

use super::Want;
use super::mailbox::{End, Mailbox, Slot};
use crate::domain::inbox::Item;
use crate::domain::overview::{Overview, Wish};
use crate::error::{Error, Result};
use crate::metrics::Metrics;

/// See the module. A user may be in several of the sets; a step takes him out of one.
#[derive(Debug, Default)]
pub(super) struct Members {
    users: HashMap<UserId, Member>,
    listeners: BTreeSet<(ChannelId, UserId)>,
    /// It is not known yet, or not any more, what they listen to.
    strangers: HashSet<UserId>,
    /// News for them by name, which go first.
    named: HashSet<UserId>,
    news: HashSet<UserId>,
    /// Their overview may be another.
    changed: HashSet<UserId>,
}

/// A user with sessions.
#[derive(Debug, Default)]
struct Member {
    channels: Vec<ChannelId>,
    items: Vec<Reader>,
    overviews: Vec<Viewer>,
    /// Items up to here were handed out.
    delivered: Seq,
    /// No overview before this instant.
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Reader {
    session: u64,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<Item>>,
}

#[derive(Debug)]
struct Viewer {
    session: u64,
    wish: Wish,
    slot: Arc<Slot<Result<Overview>>>,
    /// Of what was shown last.
    shown: Option<u64>,
}

impl Members {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    pub fn join(&mut self, user: UserId, session: u64, from: Seq, want: Want) {
        self.strangers.insert(user);
        let member = self.users.entry(user).or_default();
        match want {
            Want::Items { types, mailbox } => {
                // What was handed to the others in the meantime comes to this one too; the others know it by its seq.
                member.delivered = if member.items.is_empty() { from } else { member.delivered.min(from) };
                member.items.push(Reader { session, types, mailbox });
            }
            Want::Overviews { wish, slot } => {
                member.overviews.push(Viewer { session, wish, slot, shown: None });
                member.rests_until = None;
                self.changed.insert(user);
            }
        }
    }

    pub fn leave(&mut self, user: UserId, session: u64) {
        let Some(member) = self.users.get_mut(&user) else { return };
        member.items.retain(|of| of.session != session);
        member.overviews.retain(|of| of.session != session);
        if member.items.is_empty() && member.overviews.is_empty() {
            self.forget(user);
        }
    }

    /// Ends all sessions of somebody who is no user any more; their seats are given up by themselves.
    pub fn erase(&mut self, user: UserId) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for reader in member.items.drain(..) {
            reader.mailbox.end(End::Gone);
        }
        for viewer in member.overviews.drain(..) {
            viewer.slot.put(Err(Error::not_found("user", "of this session")));
        }
        self.forget(user);
    }

    fn forget(&mut self, user: UserId) {
        self.listen(user, Vec::new());
        self.users.remove(&user);
        for set in [&mut self.strangers, &mut self.named, &mut self.news, &mut self.changed] {
            set.remove(&user);
        }
    }

    fn listen(&mut self, user: UserId, channels: Vec<ChannelId>) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for channel in std::mem::replace(&mut member.channels, channels) {
            self.listeners.remove(&(channel, user));
        }
        self.listeners.extend(member.channels.iter().map(|channel| (*channel, user)));
    }

    /// Remembers what users listen to. What was published before that is news to them.
    pub fn introduce(&mut self, users: &[UserId], channels: &HashMap<UserId, Vec<ChannelId>>) {
        for &user in users {
            self.listen(user, channels.get(&user).cloned().unwrap_or_default());
            self.has_news(user);
        }
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
        if self.users.get(&user).is_some_and(|member| !member.overviews.is_empty()) {
            self.changed.insert(user);
        }
    }

    pub fn all_changed(&mut self) {
        self.changed.extend(self.viewers());
    }

    /// Those who look at an overview.
    pub fn viewers(&self) -> Vec<UserId> {
        let viewers = self.users.iter().filter(|(_, member)| !member.overviews.is_empty());
        viewers.map(|(user, _)| *user).collect()
    }

    pub fn listens_elsewhere(&mut self, user: UserId) {
        if self.users.contains_key(&user) {
            self.strangers.insert(user);
        }
    }

    /// Whether there is anything to do, now or later.
    pub fn has_any_work(&self) -> bool {
        !self.strangers.is_empty() || self.anybody_has_news() || self.anybody_has_changed()
    }

    /// Whether there is anything to do now.
    pub fn has_work(&self, now: Instant) -> bool {
        !self.strangers.is_empty() || self.anybody_has_news() || self.next_overview(now).is_some_and(|at| at <= now)
    }

    /// Whether there is news that has not been handed out.
    pub fn anybody_has_news(&self) -> bool {
        !(self.named.is_empty() && self.news.is_empty())
    }

    /// Whether anybody's overview may be another.
    pub fn anybody_has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// When the first of the overviews that changed may be shown.
    pub fn next_overview(&self, now: Instant) -> Option<Instant> {
        self.changed.iter().map(|user| self.rests_until(*user)).min().map(|at| at.unwrap_or(now))
    }

    fn rests_until(&self, user: UserId) -> Option<Instant> {
        self.users.get(&user)?.rests_until
    }

    pub fn take_strangers(&mut self, most: usize) -> Vec<UserId> {
        take(&mut self.strangers, most)
    }

    /// Users with news, whose overviews have then changed; those who are named first.
    pub fn take_news(&mut self, most: usize) -> Vec<UserId> {
        let mut users = take(&mut self.named, most);
        for user in &users {
            self.news.remove(user);
        }
        users.extend(take(&mut self.news, most - users.len()));
        for user in &users {
            self.changed(*user);
        }
        users
    }

    /// Users whose overviews have changed and may be shown, by what they want to see.
    pub fn take_overviews(&mut self, most: usize, now: Instant, every: Duration) -> HashMap<Wish, Vec<UserId>> {
        let is_due = |user: &&UserId| self.rests_until(**user).is_none_or(|at| at <= now);
        let due: Vec<UserId> = self.changed.iter().filter(is_due).take(most).copied().collect();
        let mut by_wish: HashMap<Wish, Vec<UserId>> = HashMap::new();
        for user in due {
            self.changed.remove(&user);
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + every);
            let wishes: HashSet<&Wish> = member.overviews.iter().map(|viewer| &viewer.wish).collect();
            for wish in wishes {
                by_wish.entry(wish.clone()).or_default().push(user);
            }
        }
        by_wish
    }

    /// Those of the users who want items, by about how far back each has to look: from an item of the same power of two.
    pub fn delivered(&self, users: &[UserId], end: Seq) -> Vec<(Seq, Vec<UserId>)> {
        let mut by_gap: BTreeMap<u32, (Seq, Vec<UserId>)> = BTreeMap::new();
        for user in users {
            let Some(member) = self.users.get(user).filter(|member| !member.items.is_empty()) else { continue };
            let gap = end.0 - member.delivered.0;
            if gap > 0 {
                let (after, users) = by_gap.entry(gap.ilog2()).or_insert((end, Vec::new()));
                *after = (*after).min(member.delivered);
                users.push(*user);
            }
        }
        by_gap.into_values().collect()
    }

    /// Hands an item to all of its user's sessions that want it and have not got it.
    pub fn hand_out(&mut self, metrics: &Metrics, item: &Item) {
        let Some(member) = self.users.get_mut(&item.user) else { return };
        if item.seq <= member.delivered {
            return;
        }
        let kind = item.content.message_type.id;
        member.items.retain(|reader| {
            if reader.types.as_ref().is_some_and(|types| !types.contains(&kind)) {
                return true;
            }
            metrics.items_delivered.inc();
            let keeps_up = reader.mailbox.put(item.clone());
            if !keeps_up {
                metrics.slow_readers.inc();
            }
            keeps_up
        });
    }

    /// Everything up to `end` was handed to these users.
    pub fn have_got(&mut self, users: &[UserId], end: Seq) {
        for user in users {
            if let Some(member) = self.users.get_mut(user) {
                member.delivered = member.delivered.max(end);
            }
        }
    }

    /// Shows an overview to those of its user's sessions that wish for it and have seen another.
    pub fn show(&mut self, metrics: &Metrics, wish: &Wish, overview: &Overview) {
        let Some(member) = self.users.get_mut(&overview.user) else { return };
        let shown = Some(overview.fingerprint());
        for viewer in member.overviews.iter_mut().filter(|viewer| viewer.wish == *wish && viewer.shown != shown) {
            viewer.shown = shown;
            viewer.slot.put(Ok(overview.clone()));
            metrics.overviews_delivered.inc();
        }
    }

    /// Ends the sessions of users whose wish cannot be fulfilled any more.
    pub fn refuse(&mut self, wish: &Wish, users: &[UserId], field: &str, message: &str) {
        for user in users {
            let Some(member) = self.users.get_mut(user) else { continue };
            for viewer in member.overviews.extract_if(.., |viewer| viewer.wish == *wish) {
                viewer.slot.put(Err(Error::bad_input(field, message)));
            }
        }
    }
}

pub(super) fn take(set: &mut HashSet<UserId>, most: usize) -> Vec<UserId> {
    set.extract_if(|_| true).take(most).collect()
}

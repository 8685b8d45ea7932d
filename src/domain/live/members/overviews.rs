//! Whose overviews are others than those that were shown, and showing them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use entity::ids::UserId;
use tokio::time::Instant;

use super::Members;
use crate::domain::live::viewer::Viewer;
use crate::domain::overview::{Overview, Wish};
use crate::domain::view::Unread;
use crate::error::Error;
use crate::telemetry::metrics::Metrics;

/// How often an overview is sent to a user at most; in between, changes are merged.
const OVERVIEW_EVERY: Duration = Duration::from_millis(100);

impl Members {
    /// The views in a user's overviews may be others.
    pub fn views_changed(&mut self, user: UserId) {
        let Some(member) = self.users.get(&user) else { return };
        let is_known = member.overviews.iter().all(|viewer| viewer.known_upto().is_some());
        if is_known && !member.overviews.is_empty() {
            self.looked.insert(user);
        } else {
            self.changed(user);
        }
    }

    /// Nothing is certain of any overview any more: what happens next to one makes it read.
    pub fn doubt_all(&mut self) {
        self.users.values_mut().flat_map(|member| &mut member.overviews).for_each(Viewer::doubt);
        self.changed.extend(self.looked.drain());
        self.changed.extend(self.counted.drain());
    }

    /// Users whose overviews have changed and may be shown, by what they want to see.
    pub fn take_overviews(&mut self, most: usize, now: Instant) -> HashMap<Wish, Vec<UserId>> {
        let mut by_wish: HashMap<Wish, Vec<UserId>> = HashMap::new();
        for user in self.due(&self.changed, most, now) {
            for set in [&mut self.changed, &mut self.looked, &mut self.counted] {
                set.remove(&user);
            }
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + OVERVIEW_EVERY);
            let wishes: HashSet<&Wish> = member.overviews.iter().map(|viewer| &viewer.wish).collect();
            for wish in wishes {
                by_wish.entry(wish.clone()).or_default().push(user);
            }
        }
        by_wish
    }

    /// Users in whose overviews nothing but the views has changed, by how many of those they want to see.
    pub fn take_looked(&mut self, most: usize, now: Instant) -> HashMap<usize, Vec<UserId>> {
        let mut by_number: HashMap<usize, Vec<UserId>> = HashMap::new();
        for user in self.due(&self.looked, most, now) {
            self.looked.remove(&user);
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + OVERVIEW_EVERY);
            let numbers: HashSet<usize> = member.overviews.iter().filter_map(|viewer| viewer.wish.views).collect();
            for number in numbers {
                by_number.entry(number).or_default().push(user);
            }
        }
        by_number
    }

    fn due(&self, users: &HashSet<UserId>, most: usize, now: Instant) -> Vec<UserId> {
        let is_due = |user: &&UserId| self.rests_until(**user).is_none_or(|at| at <= now);
        users.iter().filter(is_due).take(most).copied().collect()
    }

    /// Shows what is known of overviews that were not shown a moment ago.
    pub fn show_rested(&mut self, metrics: &Metrics, now: Instant) {
        for user in self.due(&self.counted, usize::MAX, now) {
            self.show_counted(metrics, user, now);
        }
    }

    pub(super) fn show_counted(&mut self, metrics: &Metrics, user: UserId, now: Instant) {
        let Some(member) = self.users.get_mut(&user) else { return };
        if member.rests_until.is_some_and(|until| until > now) {
            return;
        }
        self.counted.remove(&user);
        member.rests_until = Some(now + OVERVIEW_EVERY);
        for viewer in &mut member.overviews {
            if viewer.show() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// An overview was read: it is shown to those of its user's sessions that wish for it and have seen another.
    pub fn show(&mut self, metrics: &Metrics, wish: &Wish, overview: Overview) {
        let Some(member) = self.users.get_mut(&overview.user) else { return };
        let overview = Arc::new(overview);
        for viewer in member.overviews.iter_mut().filter(|viewer| viewer.wish == *wish) {
            viewer.read(overview.clone());
            if viewer.show() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// The views in overviews of a user were read: so many of them.
    pub fn show_views(&mut self, metrics: &Metrics, user: UserId, number: usize, views: &Unread) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for viewer in member.overviews.iter_mut().filter(|viewer| viewer.wish.views == Some(number)) {
            viewer.see(views.clone());
            if viewer.show() {
                metrics.overviews_delivered.inc();
            }
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

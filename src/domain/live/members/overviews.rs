//! Finds changed overviews and sends them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use entity::ids::UserId;
use tokio::time::Instant;

use super::{Member, Members};
use crate::domain::live::overview_session::OverviewSession;
use crate::domain::overview::{Overview, Wish};
use crate::domain::view::Unread;
use crate::error::Error;
use crate::telemetry::metrics::Metrics;

/// The minimum time between two overviews to a user. Changes in between are merged.
const OVERVIEW_EVERY: Duration = Duration::from_millis(100);

impl Member {
    pub(super) fn follows_overview(&self) -> bool {
        !self.overviews.is_empty()
    }

    /// Sends the known overviews.
    pub(super) fn show_known(&mut self, metrics: &Metrics, now: Instant) {
        self.rests_until = Some(now + OVERVIEW_EVERY);
        for session in &mut self.overviews {
            if session.show() {
                metrics.overviews_delivered.inc();
            }
        }
    }
}

impl Members {
    /// The views in a user's overviews have changed, and the view sessions get them next. An overview with the old
    /// views must not be sent after that.
    pub fn views_changed(&mut self, user: UserId) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in &mut member.overviews {
            if session.take_back() {
                // Send the new one without delay: otherwise a slow client would hardly ever receive one.
                member.rests_until = None;
            }
        }
        let is_known = member.overviews.iter().all(|session| session.known_upto().is_some());
        if is_known && member.follows_overview() {
            self.views_changed.insert(user);
        } else {
            self.changed(user);
        }
    }

    /// Marks all overviews as stale. The next event that concerns one makes it be read again.
    pub fn doubt_all(&mut self) {
        self.users.values_mut().flat_map(|member| &mut member.overviews).for_each(OverviewSession::doubt);
        self.changed.extend(self.views_changed.drain());
        self.changed.extend(self.counted.drain());
    }

    /// Users with a changed overview that may be sent now, by wish.
    pub fn take_overviews(&mut self, most: usize, now: Instant) -> HashMap<Wish, Vec<UserId>> {
        let mut by_wish: HashMap<Wish, Vec<UserId>> = HashMap::new();
        for user in self.due(&self.changed, most, now) {
            for set in [&mut self.changed, &mut self.views_changed, &mut self.counted] {
                set.remove(&user);
            }
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + OVERVIEW_EVERY);
            let wishes: HashSet<&Wish> = member.overviews.iter().map(|session| &session.wish).collect();
            for wish in wishes {
                by_wish.entry(wish.clone()).or_default().push(user);
            }
        }
        by_wish
    }

    /// Users with changed views but an otherwise unchanged overview, by the number of views they wish for. Users with
    /// other changes are left out: their overview is read as a whole, without waiting for this.
    pub fn take_views_changed(&mut self, most: usize, now: Instant) -> HashMap<usize, Vec<UserId>> {
        let mut by_number: HashMap<usize, Vec<UserId>> = HashMap::new();
        for user in self.due(self.views_changed.difference(&self.changed), most, now) {
            self.views_changed.remove(&user);
            let Some(member) = self.users.get_mut(&user) else { continue };
            let numbers: HashSet<usize> = member.overviews.iter().filter_map(|session| session.wish.views).collect();
            if numbers.is_empty() {
                continue;
            }
            self.counted.remove(&user);
            member.rests_until = Some(now + OVERVIEW_EVERY);
            for number in numbers {
                by_number.entry(number).or_default().push(user);
            }
        }
        by_number
    }

    /// The users who may get an overview now. If there are more than `most`, those who waited longest.
    fn due<'a>(&self, users: impl IntoIterator<Item = &'a UserId>, most: usize, now: Instant) -> Vec<UserId> {
        let since = users.into_iter().map(|user| (self.rests_until(*user), *user));
        let mut due: Vec<(Option<Instant>, UserId)> = since.filter(|(at, _)| at.is_none_or(|at| at <= now)).collect();
        if due.len() > most {
            due.select_nth_unstable(most);
            due.truncate(most);
        }
        due.into_iter().map(|(_, user)| user).collect()
    }

    /// Sends overviews that changed in memory, once their pause is over.
    pub fn show_rested(&mut self, metrics: &Metrics, now: Instant) {
        for user in self.due(&self.counted, usize::MAX, now) {
            self.show_counted(metrics, user, now);
        }
    }

    fn show_counted(&mut self, metrics: &Metrics, user: UserId, now: Instant) {
        let rests_until = self.rests_until(user);
        let Some(member) = self.users.get_mut(&user) else { return };
        // The known views may be older than those already sent to view sessions.
        let is_to_be_read = self.changed.contains(&user) || self.views_changed.contains(&user);
        if is_to_be_read || rests_until.is_some_and(|until| until > now) {
            return;
        }
        self.counted.remove(&user);
        member.show_known(metrics, now);
    }

    /// Sends an overview that was read to the user's sessions with this wish, if it differs from the last one sent.
    pub fn show(&mut self, metrics: &Metrics, wish: &Wish, overview: Overview) {
        let Some(member) = self.users.get_mut(&overview.user) else { return };
        let overview = self.alike.share(overview);
        for session in member.overviews.iter_mut().filter(|session| session.wish == *wish) {
            session.read(overview.clone());
            if session.show() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// Sends views that were read to overviews that wish for `number` of them, and sends overviews without views.
    pub fn show_views(&mut self, metrics: &Metrics, user: UserId, number: usize, views: &Unread) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in member.overviews.iter_mut().filter(|of| of.wish.views.is_none_or(|wished| wished == number)) {
            if session.wish.views.is_some() {
                session.see(views.clone());
            }
            if session.show() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// Ends these users' sessions with a wish that can no longer be fulfilled.
    pub fn refuse(&mut self, wish: &Wish, users: &[UserId], field: &str, message: &str) {
        for user in users {
            let Some(member) = self.users.get_mut(user) else { continue };
            member.overviews.retain(|session| {
                let is_refused = session.wish == *wish;
                if is_refused {
                    session.slot.put(Err(Error::bad_input(field, message)));
                }
                !is_refused
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;

    use entity::ids::Seq;
    use futures_util::FutureExt;

    use super::*;
    use crate::domain::live::alike::tests::overview;
    use crate::domain::live::event::Want;
    use crate::domain::live::mailbox::Slot;
    use crate::domain::overview::Count;

    /// The value in the slot, if there is one.
    fn taken<T>(slot: &Slot<T>) -> Option<T> {
        poll_fn(|cx| slot.poll_take(cx)).now_or_never()
    }

    #[test]
    fn who_has_waited_longest_is_shown_first_however_often_others_change() {
        let (mut members, start) = (Members::default(), Instant::now());
        for user in 0..100 {
            let want = Want::Overviews { wish: Wish::default(), slot: Arc::new(Slot::new()) };
            members.join(UserId(user), 0, Seq(0), want);
        }
        // There are more than can be sent before the pause of the first is over.
        let mut seen = HashSet::new();
        for round in 1..=4_u32 {
            (0..100).for_each(|user| members.changed(UserId(user)));
            let taken = members.take_overviews(25, start + round * OVERVIEW_EVERY);
            seen.extend(taken.into_values().flatten());
            assert_eq!(seen.len(), 25 * round as usize);
        }
    }

    #[test]
    fn views_keep_nothing_else_waiting() {
        let (mut members, now) = (Members::default(), Instant::now());
        let want = Want::Overviews { wish: Wish { views: Some(5), ..Wish::default() }, slot: Arc::new(Slot::new()) };
        members.join(UserId(1), 0, Seq(0), want);
        members.views_changed.insert(UserId(1));
        assert!(members.take_views_changed(10, now).is_empty());
        assert_eq!(members.take_overviews(10, now).into_values().flatten().collect::<Vec<_>>(), [UserId(1)]);
        assert!(!members.anybody_has_changed(), "they are shown with it");
    }

    #[test]
    fn what_is_not_taken_yet_does_not_come_after_the_views_that_it_does_not_show() {
        let (mut members, metrics, now) = (Members::default(), Metrics::default(), Instant::now());
        let wishes = [Wish::default(), Wish { views: Some(5), ..Wish::default() }];
        let slots = wishes.each_ref().map(|wish| {
            let slot = Arc::new(Slot::new());
            members.join(UserId(1), 0, Seq(0), Want::Overviews { wish: wish.clone(), slot: slot.clone() });
            members.take_overviews(10, now);
            members.show(&metrics, wish, overview(1, 5));
            slot
        });
        members.views_changed(UserId(1));
        assert_eq!(slots.each_ref().map(|slot| taken(slot).is_some()), [true, false]);
        assert_eq!(members.take_views_changed(10, now).len(), 1, "it does not rest");
        members.show_views(&metrics, UserId(1), 5, &Unread::default());
        assert_eq!(slots.each_ref().map(|slot| taken(slot).is_some()), [false, true], "it does then");
        // The error that ends a session is not taken back either.
        members.refuse(&wishes[1], &[UserId(1)], "types", "has gone");
        members.views_changed(UserId(1));
        assert!(taken(&slots[1]).is_some_and(|overview| overview.is_err()));
    }

    #[test]
    fn whose_rows_were_held_is_shown_as_soon_as_they_are_free() {
        let (mut members, metrics, mut now) = (Members::default(), Metrics::default(), Instant::now());
        members.join(UserId(1), 0, Seq(0), Want::Overviews { wish: Wish::default(), slot: Arc::new(Slot::new()) });
        members.take_overviews(10, now);
        members.show(&metrics, &Wish::default(), overview(1, 5));
        let unread = Overview { unread: Count::of(1, None), ..overview(1, 6) };
        members.users.get_mut(&UserId(1)).unwrap().overviews[0].read(Arc::new(unread));
        members.counted.insert(UserId(1));
        now += OVERVIEW_EVERY;
        for millis in [10, 20, 40, 80, 160, 250, 250] {
            members.hold(&[UserId(1)], &HashSet::from([UserId(1)]), now);
            members.show_rested(&metrics, now);
            now += Duration::from_millis(millis);
            assert_eq!(members.next_held(), Some(now));
        }
        members.hold(&[UserId(1)], &HashSet::from([UserId(1)]), now);
        assert_eq!(metrics.overviews_delivered.get(), 1);
        members.hold(&[UserId(1)], &HashSet::new(), now);
        members.show_rested(&metrics, now);
        assert_eq!((metrics.overviews_delivered.get(), members.next_held()), (2, None));
    }

    #[test]
    fn an_overview_without_views_is_shown_with_those_that_have_some() {
        let (mut members, metrics, now) = (Members::default(), Metrics::default(), Instant::now());
        let wishes = [Wish::default(), Wish { views: Some(5), ..Wish::default() }];
        for (number, wish) in (0..).zip(&wishes) {
            members.join(
                UserId(1),
                number,
                Seq(0),
                Want::Overviews { wish: wish.clone(), slot: Arc::new(Slot::new()) },
            );
            members.show(&metrics, wish, overview(1, 5));
        }
        members.take_overviews(10, now);
        assert_eq!(metrics.overviews_delivered.get(), 2);
        let unread = Overview { unread: Count::of(1, None), ..overview(1, 6) };
        for session in &mut members.users.get_mut(&UserId(1)).unwrap().overviews {
            session.read(Arc::new(unread.clone()));
        }
        members.counted.insert(UserId(1));
        members.views_changed.insert(UserId(1));
        assert_eq!(members.take_views_changed(10, now + OVERVIEW_EVERY)[&5], [UserId(1)]);
        members.show_views(&metrics, UserId(1), 5, &Unread::default());
        assert_eq!(metrics.overviews_delivered.get(), 4);
        assert!(!members.anybody_has_changed());
    }
}

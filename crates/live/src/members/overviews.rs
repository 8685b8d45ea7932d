//! Finds changed overviews and sends them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use entity::ids::UserId;
use tokio::time::Instant;

use super::{RoomMember, RoomMembers};
use crate::overview_session::OverviewSession;
use base::error::Error;
use base::telemetry::metrics::Metrics;
use domain::overview::{OverviewRequest, UserOverview};
use domain::view::UnreadViews;

/// The minimum time between two overviews to a user. Changes in between are merged.
const OVERVIEW_EVERY: Duration = Duration::from_millis(100);

impl RoomMember {
    pub(super) fn has_overview_session(&self) -> bool {
        !self.overviews.is_empty()
    }

    /// Sends the known overviews.
    pub(super) fn send_overviews(&mut self, metrics: &Metrics, now: Instant) {
        self.rests_until = Some(now + OVERVIEW_EVERY);
        for session in &mut self.overviews {
            if session.send_if_new() {
                metrics.overviews_delivered.inc();
            }
        }
    }
}

impl RoomMembers {
    /// The views in a user's overviews have changed, and the view sessions get them next. An overview with the old
    /// views must not be sent after that.
    pub fn mark_views_changed(&mut self, user: UserId) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in &mut member.overviews {
            if session.withdraw_pending() {
                // Send the new one without delay: otherwise a slow client would hardly ever receive one.
                member.rests_until = None;
            }
        }
        let is_known = member.overviews.iter().all(|session| session.overview_seq().is_some());
        if is_known && member.has_overview_session() {
            self.views_changed.insert(user);
        } else {
            self.mark_changed(user);
        }
    }

    /// Marks all overviews as stale. The next event that concerns one makes it be read again.
    pub fn mark_all_stale(&mut self) {
        self.users.values_mut().flat_map(|member| &mut member.overviews).for_each(OverviewSession::mark_stale);
        self.changed.extend(self.views_changed.drain());
        self.changed.extend(self.counted.drain());
    }

    /// Users with a changed overview that may be sent now, by wish.
    pub fn take_changed_overviews(&mut self, most: usize, now: Instant) -> HashMap<OverviewRequest, Vec<UserId>> {
        let mut by_wish: HashMap<OverviewRequest, Vec<UserId>> = HashMap::new();
        for user in self.due_users(&self.changed, most, now) {
            for set in [&mut self.changed, &mut self.views_changed, &mut self.counted] {
                set.remove(&user);
            }
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + OVERVIEW_EVERY);
            let wishes: HashSet<&OverviewRequest> = member.overviews.iter().map(|session| &session.wish).collect();
            for wish in wishes {
                by_wish.entry(wish.clone()).or_default().push(user);
            }
        }
        by_wish
    }

    /// Users with changed views but an otherwise unchanged overview, by the number of views they wish for. Users with
    /// other changes are left out: their overview is read as a whole, without waiting for this.
    pub fn take_changed_views(&mut self, most: usize, now: Instant) -> HashMap<usize, Vec<UserId>> {
        let mut by_number: HashMap<usize, Vec<UserId>> = HashMap::new();
        for user in self.due_users(self.views_changed.difference(&self.changed), most, now) {
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
    fn due_users<'a>(&self, users: impl IntoIterator<Item = &'a UserId>, most: usize, now: Instant) -> Vec<UserId> {
        let since = users.into_iter().map(|user| (self.overview_paused_until(*user), *user));
        let mut due: Vec<(Option<Instant>, UserId)> = since.filter(|(at, _)| at.is_none_or(|at| at <= now)).collect();
        if due.len() > most {
            due.select_nth_unstable(most);
            due.truncate(most);
        }
        due.into_iter().map(|(_, user)| user).collect()
    }

    /// Sends overviews that changed in memory, once their pause is over.
    pub fn send_unpaused(&mut self, metrics: &Metrics, now: Instant) {
        for user in self.due_users(&self.counted, usize::MAX, now) {
            self.send_updated(metrics, user, now);
        }
    }

    fn send_updated(&mut self, metrics: &Metrics, user: UserId, now: Instant) {
        let rests_until = self.overview_paused_until(user);
        let Some(member) = self.users.get_mut(&user) else { return };
        // The known views may be older than those already sent to view sessions.
        let is_to_be_read = self.changed.contains(&user) || self.views_changed.contains(&user);
        if is_to_be_read || rests_until.is_some_and(|until| until > now) {
            return;
        }
        self.counted.remove(&user);
        member.send_overviews(metrics, now);
    }

    /// Sends an overview that was read to the user's sessions with this wish, if it differs from the last one sent.
    pub fn send_overview(&mut self, metrics: &Metrics, wish: &OverviewRequest, overview: UserOverview) {
        let Some(member) = self.users.get_mut(&overview.user) else { return };
        let overview = self.alike.intern(overview);
        for session in member.overviews.iter_mut().filter(|session| session.wish == *wish) {
            session.set_overview(overview.clone());
            if session.send_if_new() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// Sends views that were read to overviews that wish for `number` of them, and sends overviews without views.
    pub fn send_views(&mut self, metrics: &Metrics, user: UserId, number: usize, views: &UnreadViews) {
        let Some(member) = self.users.get_mut(&user) else { return };
        for session in member.overviews.iter_mut().filter(|of| of.wish.views.is_none_or(|wished| wished == number)) {
            if session.wish.views.is_some() {
                session.set_views(views.clone());
            }
            if session.send_if_new() {
                metrics.overviews_delivered.inc();
            }
        }
    }

    /// Ends these users' sessions with a wish that can no longer be fulfilled.
    pub fn end_refused(&mut self, wish: &OverviewRequest, users: &[UserId], field: &str, message: &str) {
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
    use crate::event::SessionKind;
    use crate::mailbox::LatestSlot;
    use crate::overview_interner::tests::overview;
    use domain::overview::BoundedCount;

    /// The value in the slot, if there is one.
    fn taken<T>(slot: &LatestSlot<T>) -> Option<T> {
        poll_fn(|cx| slot.poll_take(cx)).now_or_never()
    }

    #[test]
    fn who_has_waited_longest_is_shown_first_however_often_others_change() {
        let (mut members, start) = (RoomMembers::default(), Instant::now());
        for user in 0..100 {
            let want = SessionKind::Overviews { wish: OverviewRequest::default(), slot: Arc::new(LatestSlot::new()) };
            members.join(UserId(user), 0, Seq(0), want);
        }
        // There are more than can be sent before the pause of the first is over.
        let mut seen = HashSet::new();
        for round in 1..=4_u32 {
            (0..100).for_each(|user| members.mark_changed(UserId(user)));
            let taken = members.take_changed_overviews(25, start + round * OVERVIEW_EVERY);
            seen.extend(taken.into_values().flatten());
            assert_eq!(seen.len(), 25 * round as usize);
        }
    }

    #[test]
    fn views_keep_nothing_else_waiting() {
        let (mut members, now) = (RoomMembers::default(), Instant::now());
        let want = SessionKind::Overviews {
            wish: OverviewRequest { views: Some(5), ..OverviewRequest::default() },
            slot: Arc::new(LatestSlot::new()),
        };
        members.join(UserId(1), 0, Seq(0), want);
        members.views_changed.insert(UserId(1));
        assert!(members.take_changed_views(10, now).is_empty());
        assert_eq!(members.take_changed_overviews(10, now).into_values().flatten().collect::<Vec<_>>(), [UserId(1)]);
        assert!(!members.has_changed_overviews(), "they are shown with it");
    }

    #[test]
    fn what_is_not_taken_yet_does_not_come_after_the_views_that_it_does_not_show() {
        let (mut members, metrics, now) = (RoomMembers::default(), Metrics::default(), Instant::now());
        let wishes = [OverviewRequest::default(), OverviewRequest { views: Some(5), ..OverviewRequest::default() }];
        let slots = wishes.each_ref().map(|wish| {
            let slot = Arc::new(LatestSlot::new());
            members.join(UserId(1), 0, Seq(0), SessionKind::Overviews { wish: wish.clone(), slot: slot.clone() });
            members.take_changed_overviews(10, now);
            members.send_overview(&metrics, wish, overview(1, 5));
            slot
        });
        members.mark_views_changed(UserId(1));
        assert_eq!(slots.each_ref().map(|slot| taken(slot).is_some()), [true, false]);
        assert_eq!(members.take_changed_views(10, now).len(), 1, "it does not rest");
        members.send_views(&metrics, UserId(1), 5, &UnreadViews::default());
        assert_eq!(slots.each_ref().map(|slot| taken(slot).is_some()), [false, true], "it does then");
        // The error that ends a session is not taken back either.
        members.end_refused(&wishes[1], &[UserId(1)], "types", "has gone");
        members.mark_views_changed(UserId(1));
        assert!(taken(&slots[1]).is_some_and(|overview| overview.is_err()));
    }

    #[test]
    fn whose_rows_were_held_is_shown_as_soon_as_they_are_free() {
        let (mut members, metrics, mut now) = (RoomMembers::default(), Metrics::default(), Instant::now());
        members.join(
            UserId(1),
            0,
            Seq(0),
            SessionKind::Overviews { wish: OverviewRequest::default(), slot: Arc::new(LatestSlot::new()) },
        );
        members.take_changed_overviews(10, now);
        members.send_overview(&metrics, &OverviewRequest::default(), overview(1, 5));
        let unread = UserOverview { unread: BoundedCount::with_cap(1, None), ..overview(1, 6) };
        members.users.get_mut(&UserId(1)).unwrap().overviews[0].set_overview(Arc::new(unread));
        members.counted.insert(UserId(1));
        now += OVERVIEW_EVERY;
        for millis in [10, 20, 40, 80, 160, 250, 250] {
            members.record_locked(&[UserId(1)], &HashSet::from([UserId(1)]), now);
            members.send_unpaused(&metrics, now);
            now += Duration::from_millis(millis);
            assert_eq!(members.next_retry_at(), Some(now));
        }
        members.record_locked(&[UserId(1)], &HashSet::from([UserId(1)]), now);
        assert_eq!(metrics.overviews_delivered.get(), 1);
        members.record_locked(&[UserId(1)], &HashSet::new(), now);
        members.send_unpaused(&metrics, now);
        assert_eq!((metrics.overviews_delivered.get(), members.next_retry_at()), (2, None));
    }

    #[test]
    fn an_overview_without_views_is_shown_with_those_that_have_some() {
        let (mut members, metrics, now) = (RoomMembers::default(), Metrics::default(), Instant::now());
        let wishes = [OverviewRequest::default(), OverviewRequest { views: Some(5), ..OverviewRequest::default() }];
        for (number, wish) in (0..).zip(&wishes) {
            members.join(
                UserId(1),
                number,
                Seq(0),
                SessionKind::Overviews { wish: wish.clone(), slot: Arc::new(LatestSlot::new()) },
            );
            members.send_overview(&metrics, wish, overview(1, 5));
        }
        members.take_changed_overviews(10, now);
        assert_eq!(metrics.overviews_delivered.get(), 2);
        let unread = UserOverview { unread: BoundedCount::with_cap(1, None), ..overview(1, 6) };
        for session in &mut members.users.get_mut(&UserId(1)).unwrap().overviews {
            session.set_overview(Arc::new(unread.clone()));
        }
        members.counted.insert(UserId(1));
        members.views_changed.insert(UserId(1));
        assert_eq!(members.take_changed_views(10, now + OVERVIEW_EVERY)[&5], [UserId(1)]);
        members.send_views(&metrics, UserId(1), 5, &UnreadViews::default());
        assert_eq!(metrics.overviews_delivered.get(), 4);
        assert!(!members.has_changed_overviews());
    }
}

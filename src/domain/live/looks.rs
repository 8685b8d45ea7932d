//! Views that may look different than they were told, and when they may be looked at again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use entity::ids::{UserId, ViewId};
use entity::statement::LIST;
use tokio::time::Instant;

use crate::domain::view::PAIRS;

/// How often a view is looked at at most; what happens in between is merged.
const VIEW_EVERY: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Looks {
    due: HashMap<ViewId, Due>,
    /// The same views, the one that has waited longest first.
    order: VecDeque<ViewId>,
    /// Views that were looked at a moment ago, and until when they wait.
    resting: HashMap<ViewId, Instant>,
}

/// Whom a look at a view is for.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    pub is_for_all: bool,
    pub users: HashSet<UserId>,
}

/// Looks that are made together.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Each with those whom it is for.
    pub views: Vec<(ViewId, Vec<UserId>)>,
    /// All of those.
    pub users: HashSet<UserId>,
}

impl Looks {
    /// Puts a view into the queue, if it is not there, and lets say for whom.
    pub fn at(&mut self, view: ViewId) -> &mut Due {
        self.due.entry(view).or_insert_with(|| {
            self.order.push_back(view);
            Due::default()
        })
    }

    /// When the next look may be made, if there is any to be made.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        self.due.keys().map(|view| self.resting.get(view).copied().unwrap_or(now)).min()
    }

    /// Looks that may be made now: about as many pairs of a view and a user as one statement takes. `whom` says who of
    /// those a look is for is there.
    pub fn take(&mut self, now: Instant, whom: impl Fn(ViewId, Due) -> HashSet<UserId>) -> Together {
        self.resting.retain(|_, until| *until > now);
        let mut together = Together::default();
        let mut waiting = VecDeque::new();
        while let Some(view) = self.order.pop_front() {
            if self.resting.contains_key(&view) {
                waiting.push_back(view);
                continue;
            }
            let Some(due) = self.due.get(&view) else { continue };
            let users = whom(view, due.clone());
            let views = together.views.len();
            if views == LIST || views > 0 && (views + 1) * together.users.union(&users).count() > PAIRS {
                waiting.push_back(view);
                break;
            }
            self.due.remove(&view);
            if !users.is_empty() {
                self.resting.insert(view, now + VIEW_EVERY);
                together.users.extend(&users);
                together.views.push((view, users.into_iter().collect()));
            }
        }
        waiting.append(&mut self.order);
        self.order = waiting;
        together
    }

    /// What could not be looked at is still to be looked at.
    pub fn put_back(&mut self, together: Together) {
        for (view, users) in together.views {
            self.at(view).users.extend(users);
            self.resting.remove(&view);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(ids: std::ops::Range<i64>) -> HashSet<UserId> {
        ids.map(UserId).collect()
    }

    #[test]
    fn a_view_is_looked_at_at_once_and_then_ten_times_a_second() {
        let (mut looks, start) = (Looks::default(), Instant::now());
        let taken = |millis: u64, looks: &mut Looks| {
            let together = looks.take(start + Duration::from_millis(millis), |_, due| due.users);
            together.views.into_iter().map(|(view, users)| (view.0, users.len())).collect::<Vec<_>>()
        };
        looks.at(ViewId(1)).users.insert(UserId(1));
        assert_eq!(taken(0, &mut looks), [(1, 1)]);
        assert_eq!(looks.next(start), None);
        for user in 1..50 {
            looks.at(ViewId(1)).users.insert(UserId(user));
            assert_eq!(taken(1, &mut looks), []);
        }
        assert_eq!(looks.next(start), Some(start + VIEW_EVERY));
        looks.at(ViewId(2)).users.insert(UserId(1));
        assert_eq!(taken(50, &mut looks), [(2, 1)]);
        assert_eq!(taken(100, &mut looks), [(1, 49)]);
    }

    #[test]
    fn as_many_are_looked_at_together_as_a_statement_takes_and_none_is_left_out() {
        let (mut looks, now) = (Looks::default(), Instant::now());
        for view in 0..100 {
            looks.at(ViewId(view)).users = users(10 * view..10 * view + 10);
        }
        looks.at(ViewId(100)).users = users(0..10_000);
        let failed = looks.take(now, |_, due| due.users);
        assert_eq!((failed.views.len(), failed.users.len()), (14, 140));
        looks.put_back(failed);
        let mut seen = Vec::new();
        while looks.next(now).is_some() {
            let together = looks.take(now, |_, due| due.users);
            assert!(together.views.len() == 1 || together.views.len() * together.users.len() <= PAIRS);
            seen.extend(together.views.iter().map(|(view, _)| view.0));
        }
        // What failed once comes last.
        let expected: Vec<i64> = (14..=100).chain(0..14).collect();
        assert_eq!(seen, expected);
    }
}

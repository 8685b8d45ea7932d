//! A queue of views that may have changed, with a minimum time between two reads of each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use entity::ids::{UserId, ViewId};
use entity::statement::LIST;
use tokio::time::Instant;

use domain::view::PAIRS;

/// The minimum time between two reads of a view. Changes in between are merged.
const VIEW_EVERY: Duration = Duration::from_millis(100);

/// The views to read, and those that were read a moment ago.
#[derive(Debug, Default)]
pub(super) struct ViewQueue {
    due: HashMap<ViewId, DueUsers>,
    /// The keys of `due`, the longest waiting first.
    order: VecDeque<ViewId>,
    /// Views that were read a moment ago, and when each may be read again.
    resting: HashMap<ViewId, Instant>,
}

/// The users who need a view to be read.
#[derive(Clone, Debug, Default)]
pub(super) struct DueUsers {
    pub is_for_all: bool,
    pub users: HashSet<UserId>,
}

/// Views that are read together.
#[derive(Debug, Default)]
pub(super) struct ViewBatch {
    /// Each view with its users.
    pub views: Vec<(ViewId, Vec<UserId>)>,
    /// The users of all views.
    pub users: HashSet<UserId>,
}

impl ViewQueue {
    /// Queues a view if it is not queued yet, and returns its users for the caller to extend.
    pub fn enqueue(&mut self, view: ViewId) -> &mut DueUsers {
        self.due.entry(view).or_insert_with(|| {
            self.order.push_back(view);
            DueUsers::default()
        })
    }

    /// When the next queued view may be read. `None` if the queue is empty.
    pub fn next_read_at(&self, now: Instant) -> Option<Instant> {
        self.due.keys().map(|view| self.resting.get(view).copied().unwrap_or(now)).min()
    }

    /// Takes views that may be read now: up to about as many pairs of view and user as one statement takes. `whom`
    /// returns the connected users who need a view.
    pub fn take_batch(&mut self, now: Instant, whom: impl Fn(ViewId, DueUsers) -> HashSet<UserId>) -> ViewBatch {
        self.resting.retain(|_, until| *until > now);
        let mut batch = ViewBatch::default();
        let mut waiting = VecDeque::new();
        while let Some(view) = self.order.pop_front() {
            if self.resting.contains_key(&view) {
                waiting.push_back(view);
                continue;
            }
            let Some(due) = self.due.get(&view) else { continue };
            let users = whom(view, due.clone());
            let views = batch.views.len();
            if views == LIST || views > 0 && (views + 1) * batch.users.union(&users).count() > PAIRS {
                waiting.push_back(view);
                break;
            }
            self.due.remove(&view);
            if !users.is_empty() {
                self.resting.insert(view, now + VIEW_EVERY);
                batch.users.extend(&users);
                batch.views.push((view, users.into_iter().collect()));
            }
        }
        waiting.append(&mut self.order);
        self.order = waiting;
        batch
    }

    /// Queues views again that could not be read.
    pub fn put_back(&mut self, batch: ViewBatch) {
        for (view, users) in batch.views {
            self.enqueue(view).users.extend(users);
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
    fn a_view_is_read_at_once_and_then_ten_times_a_second() {
        let (mut queue, start) = (ViewQueue::default(), Instant::now());
        let taken = |millis: u64, queue: &mut ViewQueue| {
            let batch = queue.take_batch(start + Duration::from_millis(millis), |_, due| due.users);
            batch.views.into_iter().map(|(view, users)| (view.0, users.len())).collect::<Vec<_>>()
        };
        queue.enqueue(ViewId(1)).users.insert(UserId(1));
        assert_eq!(taken(0, &mut queue), [(1, 1)]);
        assert_eq!(queue.next_read_at(start), None);
        for user in 1..50 {
            queue.enqueue(ViewId(1)).users.insert(UserId(user));
            assert_eq!(taken(1, &mut queue), []);
        }
        assert_eq!(queue.next_read_at(start), Some(start + VIEW_EVERY));
        queue.enqueue(ViewId(2)).users.insert(UserId(1));
        assert_eq!(taken(50, &mut queue), [(2, 1)]);
        assert_eq!(taken(100, &mut queue), [(1, 49)]);
    }

    #[test]
    fn as_many_are_read_together_as_a_statement_takes_and_none_is_left_out() {
        let (mut queue, now) = (ViewQueue::default(), Instant::now());
        for view in 0..100 {
            queue.enqueue(ViewId(view)).users = users(10 * view..10 * view + 10);
        }
        queue.enqueue(ViewId(100)).users = users(0..10_000);
        let failed = queue.take_batch(now, |_, due| due.users);
        assert_eq!((failed.views.len(), failed.users.len()), (14, 140));
        queue.put_back(failed);
        let mut seen = Vec::new();
        while queue.next_read_at(now).is_some() {
            let batch = queue.take_batch(now, |_, due| due.users);
            assert!(batch.views.len() == 1 || batch.views.len() * batch.users.len() <= PAIRS);
            seen.extend(batch.views.iter().map(|(view, _)| view.0));
        }
        // The views that failed once come last.
        let expected: Vec<i64> = (14..=100).chain(0..14).collect();
        assert_eq!(seen, expected);
    }
}

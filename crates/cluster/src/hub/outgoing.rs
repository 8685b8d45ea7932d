//! Notices that wait to be sent to other nodes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use entity::ids::{TenantId, ViewId};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Notice;

/// Other nodes get at most one notice about a view in this time. The first is sent at once, later ones are merged.
const VIEW_EVERY: Duration = Duration::from_millis(100);

/// Notices that wait for the bus, merged by tenant.
#[derive(Debug, Default)]
pub(super) struct OutgoingNotices {
    queue: Mutex<NoticeQueue>,
    added: Notify,
}

#[derive(Debug, Default)]
struct NoticeQueue {
    waiting: HashMap<TenantId, Notice>,
    /// Views with a notice that was just sent, and until when the next one waits.
    resting: HashMap<ViewId, Instant>,
}

impl OutgoingNotices {
    pub fn add(&self, notice: &Notice) {
        let mut queue = self.queue.lock();
        let waiting = queue.waiting.entry(notice.tenant).or_insert_with(|| Notice::for_tenant(notice.tenant));
        waiting.merge(notice);
        waiting.limit_size();
        self.added.notify_one();
    }

    /// Waits until a notice is added or a view that has a waiting notice may be sent again, for `patience` at most.
    pub async fn wait_ready(&self, patience: Duration) {
        let rested_at = {
            let queue = self.queue.lock();
            queue.resting.values().min().copied().filter(|_| !queue.waiting.is_empty())
        };
        let patience = rested_at.map_or(patience, |at| patience.min(at.saturating_duration_since(Instant::now())));
        // The caller takes what there is in either case.
        let _ = timeout(patience, self.added.notified()).await;
    }

    /// The notices that can be sent now.
    pub fn take_ready(&self, now: Instant) -> Vec<Notice> {
        let mut queue = self.queue.lock();
        let NoticeQueue { waiting, resting } = &mut *queue;
        resting.retain(|_, until| *until > now);
        let mut ready = Vec::with_capacity(waiting.len());
        for (tenant, mut notice) in std::mem::take(waiting) {
            let later = notice.take_views(|view| resting.contains_key(&view));
            if !later.is_empty() {
                waiting.insert(tenant, later);
            }
            if !notice.is_empty() {
                let of_users = notice.visits.iter().chain(&notice.joins).map(|(_, view)| view);
                let views = notice.views.iter().chain(of_users);
                resting.extend(views.map(|view| (*view, now + VIEW_EVERY)));
                ready.push(notice);
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use entity::ids::UserId;

    use super::*;

    #[test]
    fn others_are_told_of_a_view_at_once_and_then_ten_times_a_second() {
        let (outgoing, start) = (OutgoingNotices::default(), Instant::now());
        let told = |millis: u64| outgoing.take_ready(start + Duration::from_millis(millis));
        let happened = |view: i64| Notice { views: vec![ViewId(view)], ..Notice::for_tenant(TenantId(7)) };
        outgoing.add(&happened(1));
        assert_eq!(told(0), [happened(1)]);
        for millis in 1..100 {
            outgoing.add(&happened(1));
            outgoing.add(&Notice::view_visits(TenantId(7), ViewId(1), &[UserId(3)]));
            assert_eq!(told(millis), []);
        }
        // Notices about other views, and about other things, do not wait.
        let mut other = Notice::inbox_changes(TenantId(7), &[UserId(3)]);
        other.merge(&happened(2));
        outgoing.add(&other);
        assert_eq!(told(99), [other]);
        let mut merged = happened(1);
        merged.merge(&Notice::view_visits(TenantId(7), ViewId(1), &[UserId(3)]));
        assert_eq!(told(100), [merged]);
        assert_eq!(told(300), []);
    }
}

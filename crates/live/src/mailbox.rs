//! Hands values from a room to a session. A room never waits for a session, and the memory per session is bounded.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use base::error::Error;

/// Items kept for a slow session.
///
/// If the queue of a live session overflows, the session ends and the client resumes from its cursor. During a replay
/// the queue is dropped instead, and the session reads those items from the database. Senders never wait.
pub const BACKLOG: usize = 256;

/// State that a room writes and exactly one session reads. The session's waker is stored beside it: with many sessions
/// both are out of the CPU cache, and are fetched together.
#[derive(Debug)]
struct SignalCell<S>(Mutex<(S, Option<Waker>)>);

impl<S> SignalCell<S> {
    fn new(state: S) -> Self {
        Self(Mutex::new((state, None)))
    }

    /// Changes the state without adding anything new, so the session is not woken.
    fn update<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        change(&mut self.0.lock().0)
    }

    /// Adds something new, and wakes the session if it waits.
    fn put_and_wake<T>(&self, put: impl FnOnce(&mut S) -> T) -> T {
        let mut shared = self.0.lock();
        let (state, waits) = &mut *shared;
        let (done, waits) = (put(state), waits.take());
        drop(shared);
        if let Some(session) = waits {
            session.wake();
        }
        done
    }

    /// Takes something from the state, or registers the waker if there is nothing.
    fn poll_take<T>(&self, cx: &Context<'_>, take: impl FnOnce(&mut S) -> Option<T>) -> Poll<T> {
        let (state, waits) = &mut *self.0.lock();
        let taken = take(state);
        if taken.is_none() {
            waits.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
        }
        taken.map_or(Poll::Pending, Poll::Ready)
    }
}

/// A bounded queue.
#[derive(Debug)]
pub struct Mailbox<T>(SignalCell<MailboxState<T>>);

#[derive(Debug)]
struct MailboxState<T> {
    /// The head of the queue, which is mostly the only entry. Stored inline, so it needs no allocation.
    first: Option<T>,
    rest: VecDeque<T>,
    phase: MailboxPhase,
}

impl<T> MailboxState<T> {
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    fn push(&mut self, value: T) {
        if self.len() == 0 {
            self.first = Some(value);
        } else {
            self.rest.push_back(value);
        }
    }

    fn pop(&mut self) -> Option<T> {
        let first = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(first)
    }

    fn clear(&mut self) {
        self.first = None;
        self.rest.clear();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MailboxPhase {
    /// The session reads missed items from the database. If the queue overflows, it finds the dropped items there too.
    Replaying,
    /// The queue overflowed during the replay.
    Outrun,
    Live,
    /// The session gets nothing more.
    Ended(SessionEnd),
}

/// Why a session gets nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It did not take its items in time.
    TooSlow,
    /// Its user was erased.
    Gone,
    /// Its room ended.
    Lost,
}

impl SessionEnd {
    /// The error for a session that lost its room.
    pub fn lost_error() -> Error {
        Error::Unavailable("the server lost the position of the subscription: subscribe again, with `after` set to the cursor of the last item".into())
    }
}

impl<T> Mailbox<T> {
    /// A mailbox for a session that begins with a replay.
    pub fn new() -> Self {
        Self(SignalCell::new(MailboxState { first: None, rest: VecDeque::new(), phase: MailboxPhase::Replaying }))
    }

    /// Adds a value. Returns false once the session has ended, which it does if it is live and the queue is full.
    pub fn put(&self, value: T) -> bool {
        self.0.put_and_wake(|state| {
            match state.phase {
                MailboxPhase::Outrun | MailboxPhase::Ended(_) => {}
                MailboxPhase::Replaying | MailboxPhase::Live if state.len() < BACKLOG => state.push(value),
                MailboxPhase::Replaying => {
                    state.phase = MailboxPhase::Outrun;
                    state.clear();
                }
                MailboxPhase::Live => state.phase = MailboxPhase::Ended(SessionEnd::TooSlow),
            }
            !matches!(state.phase, MailboxPhase::Ended(_))
        })
    }

    /// Ends the replay. Returns false if the queue overflowed meanwhile, so that the replay must go on.
    pub fn go_live(&self) -> bool {
        self.0.update(|state| {
            let is_over = state.phase != MailboxPhase::Outrun;
            state.phase = match state.phase {
                MailboxPhase::Outrun => MailboxPhase::Replaying,
                MailboxPhase::Replaying => MailboxPhase::Live,
                other => other,
            };
            is_over
        })
    }

    /// Ends the session and drops the values that it has not taken.
    pub fn close(&self, why: SessionEnd) {
        self.0.put_and_wake(|state| {
            state.clear();
            state.phase = MailboxPhase::Ended(why);
        });
    }

    /// The next value, once there is one.
    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<Result<T, SessionEnd>> {
        self.0.poll_take(cx, |state| {
            if let Some(value) = state.pop() {
                return Some(Ok(value));
            }
            state.rest.shrink_to_fit();
            match state.phase {
                MailboxPhase::Ended(why) => Some(Err(why)),
                _ => None,
            }
        })
    }
}

/// Holds the newest value only.
#[derive(Debug)]
pub struct LatestSlot<T>(SignalCell<Option<T>>);

impl<T> LatestSlot<T> {
    /// An empty slot.
    pub fn new() -> Self {
        Self(SignalCell::new(None))
    }

    /// Stores a value, replacing one that was not taken.
    pub fn put(&self, value: T) {
        self.0.put_and_wake(|newest| *newest = Some(value));
    }

    /// Removes the value if it was not taken and matches. Returns whether it removed one.
    pub fn remove_if(&self, is_of_these: impl FnOnce(&mut T) -> bool) -> bool {
        self.0.update(|newest| newest.take_if(is_of_these).is_some())
    }

    /// Takes the value, once there is one.
    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<T> {
        self.0.poll_take(cx, Option::take)
    }
}

/// Holds the newest value of each key.
#[derive(Debug)]
pub struct LatestSlots<K, V>(SignalCell<SlotValues<K, V>>);

#[derive(Debug)]
struct SlotValues<K, V> {
    newest: HashMap<K, V>,
    /// The keys of `newest`, the longest waiting first.
    order: VecDeque<K>,
    end: Option<SessionEnd>,
}

impl<K: Copy + Eq + Hash, V> LatestSlots<K, V> {
    /// Without values.
    pub fn new() -> Self {
        Self(SignalCell::new(SlotValues { newest: HashMap::new(), order: VecDeque::new(), end: None }))
    }

    /// Stores a value, replacing one of the same key that was not taken.
    pub fn put(&self, key: K, value: V) {
        self.0.put_and_wake(|values| {
            if values.newest.insert(key, value).is_none() {
                values.order.push_back(key);
            }
        });
    }

    /// Ends the session once it has taken the remaining values.
    pub fn close(&self, why: SessionEnd) {
        self.0.put_and_wake(|values| values.end = Some(why));
    }

    /// Takes the value of the key that has waited longest, once there is one.
    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<Result<V, SessionEnd>> {
        self.0.poll_take(cx, |values| {
            let key = values.order.pop_front();
            if let Some(value) = key.and_then(|key| values.newest.remove(&key)) {
                return Some(Ok(value));
            }
            if let Some(why) = values.end {
                return Some(Err(why));
            }
            values.order.shrink_to_fit();
            values.newest.shrink_to_fit();
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn who_waited_last_is_woken_once_and_by_something_new_alone() {
        let (slot, [before, now]) = (LatestSlot::new(), [(); 2].map(|()| Arc::new(Woken::default())));
        let wakers = [&before, &now].map(|woken| Waker::from(woken.clone()));
        let [first, last] = wakers.each_ref().map(Context::from_waker);
        let woken = || [&before, &now].map(|woken| woken.0.load(Relaxed));
        assert!(slot.poll_take(&first).is_pending() && slot.poll_take(&last).is_pending());
        assert!(!slot.remove_if(|_| true) && woken() == [0, 0]);
        slot.put(1);
        slot.put(2);
        assert_eq!(woken(), [0, 1]);
        assert_eq!(slot.poll_take(&first), Poll::Ready(2));
        assert!(slot.poll_take(&first).is_pending());
        slot.put(3);
        assert_eq!(woken(), [1, 1]);
        assert_eq!(slot.poll_take(&first), Poll::Ready(3), "what came while nobody waited is there");
    }

    /// Polls with a waker that does nothing.
    fn polled<T>(poll: impl FnOnce(&Context<'_>) -> Poll<T>) -> Poll<T> {
        poll(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_live_session_that_takes_nothing_ends_after_what_was_there_for_it() {
        let mailbox = Mailbox::new();
        assert!(mailbox.go_live());
        for number in 0..BACKLOG {
            assert!(mailbox.put(number));
        }
        assert!(!mailbox.put(BACKLOG) && !mailbox.put(BACKLOG + 1));
        for number in 0..BACKLOG {
            assert_eq!(polled(|cx| mailbox.poll_take(cx)), Poll::Ready(Ok(number)));
        }
        assert_eq!(polled(|cx| mailbox.poll_take(cx)), Poll::Ready(Err(SessionEnd::TooSlow)));
    }

    #[test]
    fn a_replay_that_was_outrun_goes_on() {
        let mailbox = Mailbox::new();
        for number in 0..=BACKLOG {
            assert!(mailbox.put(number));
        }
        assert!(!mailbox.go_live());
        assert!(mailbox.put(1) && mailbox.go_live());
        assert_eq!(polled(|cx| mailbox.poll_take(cx)), Poll::Ready(Ok(1)));
    }

    #[test]
    fn what_was_taken_back_does_not_come() {
        let slot = LatestSlot::new();
        assert!(!slot.remove_if(|_| true));
        slot.put(1);
        assert!(!slot.remove_if(|value| *value != 1) && slot.remove_if(|value| *value == 1));
        slot.put(2);
        assert_eq!(polled(|cx| slot.poll_take(cx)), Poll::Ready(2));
        assert!(!slot.remove_if(|_| true));
    }

    #[test]
    fn slots_keep_the_newest_of_each_key_in_the_order_of_their_first() {
        let slots = LatestSlots::new();
        for (key, value) in [(1, "old"), (2, "other"), (1, "new")] {
            slots.put(key, value);
        }
        let next = || polled(|cx| slots.poll_take(cx));
        assert_eq!((next(), next()), (Poll::Ready(Ok("new")), Poll::Ready(Ok("other"))));
        slots.put(1, "again");
        assert_eq!(next(), Poll::Ready(Ok("again")));
        slots.close(SessionEnd::Gone);
        assert_eq!(next(), Poll::Ready(Err(SessionEnd::Gone)));
    }
}

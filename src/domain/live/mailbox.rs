//! What a room hands to a session: never waits for it, and never grows without bound.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::Error;

/// Events kept for a session that reads slowly.
///
/// Past this it is told to resume from its cursor; it never holds anybody else up.
pub const BACKLOG: usize = 256;

/// A queue of a bounded length.
#[derive(Debug)]
pub struct Mailbox<T> {
    state: Mutex<State<T>>,
    arrived: Notify,
}

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The session reads what it missed from the database; what does not fit here it will find there too.
    Replaying,
    /// Something did not fit meanwhile.
    Outrun,
    Live,
    /// The session gets nothing more.
    Ended(End),
}

/// Why a session gets nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not take what was there for it.
    TooSlow,
    /// Its user is no user any more.
    Gone,
    /// Its room has ended before it.
    Lost,
}

impl End {
    /// What a session is told that has lost its room.
    pub fn lost() -> Error {
        Error::Unavailable("the server has lost its place: subscribe again, after the cursor of the last item".into())
    }
}

impl<T> Mailbox<T> {
    /// For a session that begins by replaying.
    pub fn new() -> Self {
        Self { state: Mutex::new(State { queue: VecDeque::new(), phase: Phase::Replaying }), arrived: Notify::new() }
    }

    /// Puts one in; false when that was one too many for a live session, which then ends.
    pub fn put(&self, value: T) -> bool {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Outrun => return true,
            Phase::Ended(_) => return false,
            Phase::Replaying | Phase::Live if state.queue.len() < BACKLOG => state.queue.push_back(value),
            Phase::Replaying => {
                state.phase = Phase::Outrun;
                state.queue.clear();
            }
            Phase::Live => state.phase = Phase::Ended(End::TooSlow),
        }
        let is_kept = !matches!(state.phase, Phase::Ended(_));
        drop(state);
        self.arrived.notify_one();
        is_kept
    }

    /// Ends the replay; false where it must go on, for something was dropped meanwhile.
    pub fn go_live(&self) -> bool {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Outrun => {
                state.phase = Phase::Replaying;
                return false;
            }
            Phase::Replaying => state.phase = Phase::Live,
            Phase::Live | Phase::Ended(_) => {}
        }
        true
    }

    /// Nothing more comes, and what was not taken is dropped.
    pub fn end(&self, why: End) {
        let mut state = self.state.lock();
        state.queue.clear();
        state.phase = Phase::Ended(why);
        drop(state);
        self.arrived.notify_one();
    }

    /// The next one, as soon as it is there.
    pub async fn take(&self) -> Result<T, End> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(value) = state.queue.pop_front() {
                    return Ok(value);
                }
                state.queue.shrink_to_fit();
                if let Phase::Ended(why) = state.phase {
                    return Err(why);
                }
            }
            self.arrived.notified().await;
        }
    }
}

/// Room for the newest value alone.
#[derive(Debug)]
pub struct Slot<T> {
    value: Mutex<Option<T>>,
    arrived: Notify,
}

impl<T> Slot<T> {
    /// With nothing in it.
    pub fn new() -> Self {
        Self { value: Mutex::new(None), arrived: Notify::new() }
    }

    /// Puts one in, in place of any that was not taken.
    pub fn put(&self, value: T) {
        *self.value.lock() = Some(value);
        self.arrived.notify_one();
    }

    /// Takes the one out that was not taken, if it is one of these. Whether it was there.
    pub fn take_back(&self, is_of_these: impl FnOnce(&mut T) -> bool) -> bool {
        self.value.lock().take_if(is_of_these).is_some()
    }

    /// The newest one, as soon as it is there.
    pub async fn take(&self) -> T {
        loop {
            if let Some(value) = self.value.lock().take() {
                return value;
            }
            self.arrived.notified().await;
        }
    }
}

/// Room for the newest value of each key.
#[derive(Debug)]
pub struct Slots<K, V> {
    values: Mutex<Values<K, V>>,
    arrived: Notify,
}

#[derive(Debug)]
struct Values<K, V> {
    newest: HashMap<K, V>,
    /// Their keys, the one that has waited longest first.
    order: VecDeque<K>,
    end: Option<End>,
}

impl<K: Copy + Eq + Hash, V> Slots<K, V> {
    /// With nothing in it.
    pub fn new() -> Self {
        let values = Values { newest: HashMap::new(), order: VecDeque::new(), end: None };
        Self { values: Mutex::new(values), arrived: Notify::new() }
    }

    /// Puts one in, in place of any of the same key that was not taken.
    pub fn put(&self, key: K, value: V) {
        let mut values = self.values.lock();
        if values.newest.insert(key, value).is_none() {
            values.order.push_back(key);
        }
        drop(values);
        self.arrived.notify_one();
    }

    /// Nothing more comes.
    pub fn end(&self, why: End) {
        self.values.lock().end = Some(why);
        self.arrived.notify_one();
    }

    /// The newest one of the key that has waited longest, as soon as there is one.
    pub async fn take(&self) -> Result<V, End> {
        loop {
            {
                let mut values = self.values.lock();
                let key = values.order.pop_front();
                if let Some(value) = key.and_then(|key| values.newest.remove(&key)) {
                    return Ok(value);
                }
                if let Some(why) = values.end {
                    return Err(why);
                }
                values.order.shrink_to_fit();
                values.newest.shrink_to_fit();
            }
            self.arrived.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BACKLOG, End, Mailbox, Slot, Slots};

    #[tokio::test]
    async fn a_live_session_that_takes_nothing_ends_after_what_was_there_for_it() {
        let mailbox = Mailbox::new();
        assert!(mailbox.go_live());
        for number in 0..BACKLOG {
            assert!(mailbox.put(number));
        }
        assert!(!mailbox.put(BACKLOG) && !mailbox.put(BACKLOG + 1));
        for number in 0..BACKLOG {
            assert_eq!(mailbox.take().await.unwrap(), number);
        }
        assert!(mailbox.take().await.is_err());
    }

    #[tokio::test]
    async fn a_replay_that_was_outrun_goes_on() {
        let mailbox = Mailbox::new();
        for number in 0..=BACKLOG {
            assert!(mailbox.put(number));
        }
        assert!(!mailbox.go_live());
        assert!(mailbox.put(1) && mailbox.go_live());
        assert_eq!(mailbox.take().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn what_was_taken_back_does_not_come() {
        let slot = Slot::new();
        assert!(!slot.take_back(|_| true));
        slot.put(1);
        assert!(!slot.take_back(|value| *value != 1) && slot.take_back(|value| *value == 1));
        slot.put(2);
        assert_eq!(slot.take().await, 2);
        assert!(!slot.take_back(|_| true));
    }

    #[tokio::test]
    async fn slots_keep_the_newest_of_each_key_in_the_order_of_their_first() {
        let slots = Slots::new();
        for (key, value) in [(1, "old"), (2, "other"), (1, "new")] {
            slots.put(key, value);
        }
        assert_eq!((slots.take().await, slots.take().await), (Ok("new"), Ok("other")));
        slots.put(1, "again");
        assert_eq!(slots.take().await, Ok("again"));
        slots.end(End::Gone);
        assert_eq!(slots.take().await, Err(End::Gone));
    }
}

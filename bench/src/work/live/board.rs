//! Records what the sessions have received.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::session::Want;
use crate::Result;

/// Maximum time until all sessions have received a notification.
const PATIENCE: Duration = Duration::from_mins(2);

/// The expected messages and their arrivals.
pub struct Board {
    state: Mutex<State>,
    complete: Notify,
}

#[derive(Default)]
struct State {
    /// The title as it appears in a message.
    title: String,
    items: Expected,
    overviews: Expected,
}

#[derive(Default)]
struct Expected {
    count: usize,
    arrived: Vec<Instant>,
}

/// Arrival times of all sessions.
pub struct Arrivals {
    pub items: Vec<Instant>,
    pub overviews: Vec<Instant>,
}

impl Board {
    pub fn new(sessions: usize) -> Self {
        let expected = || Expected { count: 0, arrived: Vec::with_capacity(sessions) };
        let state = State { title: "nothing yet".into(), items: expected(), overviews: expected() };
        Self { state: Mutex::new(state), complete: Notify::new() }
    }

    /// From now on, expect that `sessions` sessions receive something with this title.
    pub fn expect(&self, title: &str, sessions: usize, want: Want) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.title = format!("{title:?}");
        state.items.count = if want == Want::Overviews { 0 } else { sessions };
        state.overviews.count = if want == Want::Items { 0 } else { sessions };
        state.items.arrived.clear();
        state.overviews.arrived.clear();
    }

    /// Records a message that a session has received, if it is an expected one.
    pub fn heard(&self, message: &str) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !message.contains(&state.title) {
            return;
        }
        let is_item = message.contains("itemReceived");
        let expected = if is_item { &mut state.items } else { &mut state.overviews };
        // An overview may arrive again with the same newest item if another part of it has changed.
        if expected.arrived.len() < expected.count {
            expected.arrived.push(now);
        }
        if state.items.is_complete() && state.overviews.is_complete() {
            self.complete.notify_one();
        }
    }

    /// Waits until everything expected has arrived.
    pub async fn arrivals(&self) -> Result<Arrivals> {
        loop {
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.items.is_complete() && state.overviews.is_complete() {
                    let items = std::mem::take(&mut state.items.arrived);
                    return Ok(Arrivals { items, overviews: std::mem::take(&mut state.overviews.arrived) });
                }
            }
            if timeout(PATIENCE, self.complete.notified()).await.is_err() {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let (items, overviews) = (state.items.arrived.len(), state.overviews.arrived.len());
                return Err(format!("only {items} items and {overviews} overviews came of {}", state.title).into());
            }
        }
    }
}

impl Expected {
    fn is_complete(&self) -> bool {
        self.arrived.len() >= self.count
    }
}

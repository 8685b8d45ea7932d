//! How many attempts may be under way at once at hosts that users have named.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Attempts at hosts that did not answer the last time, or were never asked.
const DOUBTED: usize = 4;
/// Attempts at one host that a user has named, though it answers: it may cease to at any time.
const OF_ORIGIN: usize = 4;
/// Attempts at all hosts that users have named. The places above that are for others alone.
const NAMED: usize = 12;

/// How far the host of a delivery is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// The operators have named it, or it is a public push service.
    Known,
    /// A user has named this origin, which answered promptly the last time.
    Proven(&'a str),
    /// It may never answer: others are not to wait for it.
    Doubted(&'a str),
}

/// The places of a lane's attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Seats(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    doubted: usize,
    named: usize,
    by_origin: HashMap<String, usize>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Seats,
    /// `None` if the host is known.
    origin: Option<String>,
    is_doubted: bool,
}

impl Seats {
    /// Whether an attempt may begin.
    pub fn have_room(&self, trust: Trust<'_>) -> bool {
        let (origin, is_doubted) = match trust {
            Trust::Known => return true,
            Trust::Proven(origin) => (origin, false),
            Trust::Doubted(origin) => (origin, true),
        };
        let taken = self.0.lock();
        let of_origin = taken.by_origin.get(origin).copied().unwrap_or_default();
        taken.named < NAMED && of_origin < OF_ORIGIN && !(is_doubted && taken.doubted >= DOUBTED)
    }

    /// A place for an attempt that begins.
    pub fn take(&self, trust: Trust<'_>) -> Seat {
        let (origin, is_doubted) = match trust {
            Trust::Known => (None, false),
            Trust::Proven(origin) => (Some(origin.to_owned()), false),
            Trust::Doubted(origin) => (Some(origin.to_owned()), true),
        };
        if let Some(origin) = &origin {
            let mut taken = self.0.lock();
            taken.doubted += usize::from(is_doubted);
            taken.named += 1;
            *taken.by_origin.entry(origin.clone()).or_default() += 1;
        }
        Seat { seats: self.clone(), origin, is_doubted }
    }

    /// Whether an attempt is under way that may never be answered.
    pub fn are_doubted(&self) -> bool {
        self.0.lock().doubted > 0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(origin) = &self.origin else { return };
        let mut taken = self.seats.0.lock();
        taken.doubted -= usize::from(self.is_doubted);
        taken.named -= 1;
        if let Some(of_origin) = taken.by_origin.get_mut(origin) {
            *of_origin -= 1;
            if *of_origin == 0 {
                taken.by_origin.remove(origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_users_leave_places_to_others_whether_they_answer_or_not() {
        let seats = Seats::default();
        let (one, other) = ("https://one.example", "https://other.example");
        let first: Vec<Seat> = (0..OF_ORIGIN).map(|_| seats.take(Trust::Proven(one))).collect();
        assert!(!seats.have_room(Trust::Proven(one)) && !seats.have_room(Trust::Doubted(one)));
        assert!(seats.have_room(Trust::Proven(other)) && !seats.are_doubted());
        let doubted: Vec<Seat> = (0..DOUBTED).map(|_| seats.take(Trust::Doubted(other))).collect();
        assert!(!seats.have_room(Trust::Doubted("https://third.example")) && seats.are_doubted());
        let third: Vec<Seat> = (0..OF_ORIGIN).map(|_| seats.take(Trust::Proven("https://third.example"))).collect();
        assert!(!seats.have_room(Trust::Proven("https://fourth.example")) && seats.have_room(Trust::Known));
        drop((first, doubted, third));
        assert!(seats.have_room(Trust::Doubted(one)) && seats.0.lock().by_origin.is_empty());
    }
}

//! Limits concurrent attempts at hosts that users chose.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Concurrent attempts at unproven hosts: those that did not answer last time, or were never tried.
const DOUBTED: usize = 4;
/// Concurrent attempts at one host that a user chose, even if it answers: it may stop at any time.
const OF_ORIGIN: usize = 4;
/// Concurrent attempts at all hosts that users chose. The remaining permits are for known hosts.
const NAMED: usize = 12;

/// How much the host of a delivery is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// An operator chose it, or it is a public push service.
    Known,
    /// A user chose this origin, and it answered promptly last time.
    Proven(&'a str),
    /// A user chose this origin, and it may never answer. Other deliveries must not wait for it.
    Doubted(&'a str),
}

/// The permits for a destination's attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Seats(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    doubted: usize,
    named: usize,
    by_origin: HashMap<String, usize>,
}

/// A permit. Dropping it releases it.
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

    /// Takes a permit for an attempt that begins.
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

    /// Whether an attempt at an unproven host is in flight.
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

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
pub enum HostTrust<'a> {
    /// An operator chose it, or it is a public push service.
    Known,
    /// A user chose this origin, and it answered promptly last time.
    Proven(&'a str),
    /// A user chose this origin, and it may never answer. Other deliveries must not wait for it.
    Doubted(&'a str),
}

/// The permits for a destination's attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptPermits(Arc<Mutex<PermitCounts>>);

#[derive(Debug, Default)]
struct PermitCounts {
    doubted: usize,
    named: usize,
    by_origin: HashMap<String, usize>,
}

/// A permit. Dropping it releases it.
#[derive(Debug)]
pub(super) struct AttemptPermit {
    seats: AttemptPermits,
    /// `None` if the host is known.
    origin: Option<String>,
    is_doubted: bool,
}

impl AttemptPermits {
    /// Whether an attempt may begin.
    pub fn has_permit(&self, trust: HostTrust<'_>) -> bool {
        let (origin, is_doubted) = match trust {
            HostTrust::Known => return true,
            HostTrust::Proven(origin) => (origin, false),
            HostTrust::Doubted(origin) => (origin, true),
        };
        let taken = self.0.lock();
        let of_origin = taken.by_origin.get(origin).copied().unwrap_or_default();
        taken.named < NAMED && of_origin < OF_ORIGIN && !(is_doubted && taken.doubted >= DOUBTED)
    }

    /// Takes a permit for an attempt that begins.
    pub fn acquire(&self, trust: HostTrust<'_>) -> AttemptPermit {
        let (origin, is_doubted) = match trust {
            HostTrust::Known => (None, false),
            HostTrust::Proven(origin) => (Some(origin.to_owned()), false),
            HostTrust::Doubted(origin) => (Some(origin.to_owned()), true),
        };
        if let Some(origin) = &origin {
            let mut taken = self.0.lock();
            taken.doubted += usize::from(is_doubted);
            taken.named += 1;
            *taken.by_origin.entry(origin.clone()).or_default() += 1;
        }
        AttemptPermit { seats: self.clone(), origin, is_doubted }
    }

    /// Whether an attempt at an unproven host is in flight.
    pub fn has_unproven(&self) -> bool {
        self.0.lock().doubted > 0
    }
}

impl Drop for AttemptPermit {
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
        let seats = AttemptPermits::default();
        let (one, other) = ("https://one.example", "https://other.example");
        let first: Vec<AttemptPermit> = (0..OF_ORIGIN).map(|_| seats.acquire(HostTrust::Proven(one))).collect();
        assert!(!seats.has_permit(HostTrust::Proven(one)) && !seats.has_permit(HostTrust::Doubted(one)));
        assert!(seats.has_permit(HostTrust::Proven(other)) && !seats.has_unproven());
        let doubted: Vec<AttemptPermit> = (0..DOUBTED).map(|_| seats.acquire(HostTrust::Doubted(other))).collect();
        assert!(!seats.has_permit(HostTrust::Doubted("https://third.example")) && seats.has_unproven());
        let third: Vec<AttemptPermit> =
            (0..OF_ORIGIN).map(|_| seats.acquire(HostTrust::Proven("https://third.example"))).collect();
        assert!(!seats.has_permit(HostTrust::Proven("https://fourth.example")) && seats.has_permit(HostTrust::Known));
        drop((first, doubted, third));
        assert!(seats.has_permit(HostTrust::Doubted(one)) && seats.0.lock().by_origin.is_empty());
    }
}

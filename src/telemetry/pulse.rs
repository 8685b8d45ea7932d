//! The activity of each tenant on this node, which the tenant may see. The [metrics](super::metrics) cover all tenants.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use entity::ids::TenantId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The time that one count covers.
const SPAN: Duration = Duration::from_secs(5);

/// The counts of a minute.
const SPANS: usize = 12;

/// Tenants without activity are removed when there are this many more tenants than after the last removal.
const MORE: usize = 1000;

/// A tenant's activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    /// Open sockets and event streams.
    #[serde(rename = "o")]
    pub sessions: u32,
    /// Inboxes that were synced with the log within the last minute.
    #[serde(rename = "y")]
    pub syncs: u32,
    /// Requests that failed within the last minute for reasons other than the caller's.
    #[serde(rename = "x")]
    pub errors: u32,
}

/// All tenants with activity now or within the last minute.
#[derive(Debug)]
pub struct Pulse {
    began: Instant,
    tenants: Mutex<Tenants>,
}

#[derive(Debug, Default)]
struct Tenants {
    all: HashMap<TenantId, Minute>,
    /// The number of tenants after the last removal.
    left: usize,
}

#[derive(Debug, Default)]
struct Minute {
    sessions: u32,
    spans: [Span; SPANS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Counts from the start of the process.
    number: u64,
    syncs: u32,
    errors: u32,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { began: Instant::now(), tenants: Mutex::default() }
    }
}

impl Pulse {
    /// A session was opened.
    pub fn comes(&self, tenant: TenantId) {
        self.with(tenant, |of, _| of.sessions += 1);
    }

    /// A session was closed.
    pub fn goes(&self, tenant: TenantId) {
        self.with(tenant, |of, _| of.sessions = of.sessions.saturating_sub(1));
    }

    /// Inboxes were synced.
    pub fn synced(&self, tenant: TenantId, many: u64) {
        let many = u32::try_from(many).unwrap_or(u32::MAX);
        self.with(tenant, |of, now| {
            let span = of.span(now);
            span.syncs = span.syncs.saturating_add(many);
        });
    }

    /// A request failed.
    pub fn failed(&self, tenant: TenantId) {
        self.with(tenant, |of, now| of.span(now).errors += 1);
    }

    /// A tenant's current activity.
    pub fn of(&self, tenant: TenantId) -> Doing {
        let now = self.span();
        self.tenants.lock().all.get(&tenant).map(|of| of.doing(now)).unwrap_or_default()
    }

    fn with(&self, tenant: TenantId, change: impl FnOnce(&mut Minute, u64)) {
        let now = self.span();
        let mut tenants = self.tenants.lock();
        let Tenants { all, left } = &mut *tenants;
        if all.len() > *left + MORE {
            all.retain(|_, of| of.doing(now) != Doing::default());
            *left = all.len();
        }
        change(all.entry(tenant).or_default(), now);
    }

    /// The current span's number. Starts at `SPANS`, so that spans that were never used count as old.
    fn span(&self) -> u64 {
        self.began.elapsed().as_secs() / SPAN.as_secs() + SPANS as u64
    }
}

impl Minute {
    /// The span that counts now.
    fn span(&mut self, now: u64) -> &mut Span {
        let place = usize::try_from(now % SPANS as u64).unwrap_or_default();
        let span = &mut self.spans[place];
        if span.number != now {
            *span = Span { number: now, ..Span::default() };
        }
        span
    }

    fn doing(&self, now: u64) -> Doing {
        let recent = self.spans.iter().filter(|span| span.number + SPANS as u64 > now);
        recent.fold(Doing { sessions: self.sessions, ..Doing::default() }, |all, span| Doing {
            syncs: all.syncs.saturating_add(span.syncs),
            errors: all.errors.saturating_add(span.errors),
            ..all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_counted_and_forgotten() {
        let mut of = Minute { sessions: 2, ..Minute::default() };
        let first = SPANS as u64;
        of.span(first).syncs += 3;
        of.span(first + 4).syncs += 4;
        of.span(first + 4).errors += 1;
        assert_eq!(of.doing(first + 4), Doing { sessions: 2, syncs: 7, errors: 1 });
        assert_eq!(of.doing(first + 11), Doing { sessions: 2, syncs: 7, errors: 1 });
        assert_eq!(of.doing(first + 12), Doing { sessions: 2, syncs: 4, errors: 1 });
        of.span(first + 16).errors += 1;
        assert_eq!(of.doing(first + 16), Doing { sessions: 2, syncs: 0, errors: 1 });
        assert_eq!(of.doing(first + 40), Doing { sessions: 2, syncs: 0, errors: 0 });
    }

    #[test]
    fn those_of_whom_nothing_is_left_go() {
        let pulse = Pulse::default();
        for tenant in 0..5000 {
            pulse.comes(TenantId(tenant));
            pulse.goes(TenantId(tenant));
        }
        pulse.synced(TenantId(1), 5);
        pulse.failed(TenantId(1));
        assert_eq!(pulse.of(TenantId(1)), Doing { sessions: 0, syncs: 5, errors: 1 });
        assert_eq!(pulse.of(TenantId(2)), Doing::default());
        assert!(pulse.tenants.lock().all.len() <= MORE + 2);
    }
}

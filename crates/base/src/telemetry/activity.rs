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
pub struct TenantActivity {
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
pub struct ActivityTracker {
    began: Instant,
    tenants: Mutex<ActivityTable>,
}

#[derive(Debug, Default)]
struct ActivityTable {
    all: HashMap<TenantId, ActivityMinute>,
    /// The number of tenants after the last removal.
    left: usize,
}

#[derive(Debug, Default)]
struct ActivityMinute {
    sessions: u32,
    spans: [ActivitySpan; SPANS],
}

#[derive(Clone, Copy, Debug, Default)]
struct ActivitySpan {
    /// Counts from the start of the process.
    number: u64,
    syncs: u32,
    errors: u32,
}

impl Default for ActivityTracker {
    fn default() -> Self {
        Self { began: Instant::now(), tenants: Mutex::default() }
    }
}

impl ActivityTracker {
    /// A session was opened.
    pub fn session_opened(&self, tenant: TenantId) {
        self.update_tenant(tenant, |of, _| of.sessions += 1);
    }

    /// A session was closed.
    pub fn session_closed(&self, tenant: TenantId) {
        self.update_tenant(tenant, |of, _| of.sessions = of.sessions.saturating_sub(1));
    }

    /// Inboxes were synced.
    pub fn record_syncs(&self, tenant: TenantId, many: u64) {
        let many = u32::try_from(many).unwrap_or(u32::MAX);
        self.update_tenant(tenant, |of, now| {
            let span = of.span_at(now);
            span.syncs = span.syncs.saturating_add(many);
        });
    }

    /// A request failed.
    pub fn record_failure(&self, tenant: TenantId) {
        self.update_tenant(tenant, |of, now| of.span_at(now).errors += 1);
    }

    /// A tenant's current activity.
    pub fn for_tenant(&self, tenant: TenantId) -> TenantActivity {
        let now = self.current_span();
        self.tenants.lock().all.get(&tenant).map(|of| of.summarize(now)).unwrap_or_default()
    }

    fn update_tenant(&self, tenant: TenantId, change: impl FnOnce(&mut ActivityMinute, u64)) {
        let now = self.current_span();
        let mut tenants = self.tenants.lock();
        let ActivityTable { all, left } = &mut *tenants;
        if all.len() > *left + MORE {
            all.retain(|_, of| of.summarize(now) != TenantActivity::default());
            *left = all.len();
        }
        change(all.entry(tenant).or_default(), now);
    }

    /// The current span's number. Starts at `SPANS`, so that spans that were never used count as old.
    fn current_span(&self) -> u64 {
        self.began.elapsed().as_secs() / SPAN.as_secs() + SPANS as u64
    }
}

impl ActivityMinute {
    /// The span that counts now.
    fn span_at(&mut self, now: u64) -> &mut ActivitySpan {
        let place = usize::try_from(now % SPANS as u64).unwrap_or_default();
        let span = &mut self.spans[place];
        if span.number != now {
            *span = ActivitySpan { number: now, ..ActivitySpan::default() };
        }
        span
    }

    fn summarize(&self, now: u64) -> TenantActivity {
        let recent = self.spans.iter().filter(|span| span.number + SPANS as u64 > now);
        recent.fold(TenantActivity { sessions: self.sessions, ..TenantActivity::default() }, |all, span| {
            TenantActivity {
                syncs: all.syncs.saturating_add(span.syncs),
                errors: all.errors.saturating_add(span.errors),
                ..all
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_counted_and_forgotten() {
        let mut of = ActivityMinute { sessions: 2, ..ActivityMinute::default() };
        let first = SPANS as u64;
        of.span_at(first).syncs += 3;
        of.span_at(first + 4).syncs += 4;
        of.span_at(first + 4).errors += 1;
        assert_eq!(of.summarize(first + 4), TenantActivity { sessions: 2, syncs: 7, errors: 1 });
        assert_eq!(of.summarize(first + 11), TenantActivity { sessions: 2, syncs: 7, errors: 1 });
        assert_eq!(of.summarize(first + 12), TenantActivity { sessions: 2, syncs: 4, errors: 1 });
        of.span_at(first + 16).errors += 1;
        assert_eq!(of.summarize(first + 16), TenantActivity { sessions: 2, syncs: 0, errors: 1 });
        assert_eq!(of.summarize(first + 40), TenantActivity { sessions: 2, syncs: 0, errors: 0 });
    }

    #[test]
    fn those_of_whom_nothing_is_left_go() {
        let pulse = ActivityTracker::default();
        for tenant in 0..5000 {
            pulse.session_opened(TenantId(tenant));
            pulse.session_closed(TenantId(tenant));
        }
        pulse.record_syncs(TenantId(1), 5);
        pulse.record_failure(TenantId(1));
        assert_eq!(pulse.for_tenant(TenantId(1)), TenantActivity { sessions: 0, syncs: 5, errors: 1 });
        assert_eq!(pulse.for_tenant(TenantId(2)), TenantActivity::default());
        assert!(pulse.tenants.lock().all.len() <= MORE + 2);
    }
}

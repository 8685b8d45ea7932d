//! Retries and back-off of deliveries to external servers.

use entity::delivery::DeliveryEvent;

use base::clock::Millis;

/// Delays between attempts, in milliseconds. After the last one the delivery fails for good.
const STEPS: [Millis; 8] = [5_000, 60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];

/// Consecutive failures that open the circuit: no attempts for a while.
pub const FAILURES: i64 = 5;

/// How long it stays open, in milliseconds: first, and at most.
const OPEN: (Millis, Millis) = (30_000, 900_000);

/// How long an endpoint may only fail before it is disabled, in milliseconds: five days.
pub const HOPELESS: Millis = 432_000_000;

/// The webhook events and the names that receivers see.
pub const EVENTS: [(DeliveryEvent, &str); 7] = [
    (DeliveryEvent::Published, "notification.published"),
    (DeliveryEvent::Retracted, "notification.retracted"),
    (DeliveryEvent::Amended, "notification.amended"),
    (DeliveryEvent::Expired, "notification.expired"),
    (DeliveryEvent::Disabled, "endpoint.disabled"),
    (DeliveryEvent::Ping, "test.ping"),
    (DeliveryEvent::Read, "item.read"),
];

/// The name of an event that receivers see.
pub fn event_name(event: DeliveryEvent) -> &'static str {
    EVENTS.iter().find(|(of, _)| *of == event).map_or("", |(_, name)| name)
}

/// The delay after this many attempts; `None` if the delivery has failed for good. `chance`, from 0 to 999, varies it
/// by up to a fifth, so that deliveries that failed together are not retried together. A receiver's `Retry-After` is
/// honoured within one to two times the delay.
pub fn retry_delay(attempts: i64, chance: u16, retry_after: Option<Millis>) -> Option<Millis> {
    let step = *STEPS.get(usize::try_from(attempts - 1).ok()?)?;
    if let Some(asked) = retry_after {
        return Some(asked.clamp(step, 2 * step));
    }
    Some(step * 4 / 5 + step * 2 / 5 * Millis::from(chance.min(999)) / 999)
}

/// Recent results of an endpoint; they decide whether it is tried at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointHealth {
    /// Consecutive failures; from the fifth on only probes count.
    pub failures: i64,
    /// No attempts until then.
    pub open_until: Millis,
    /// Time of the first failure since the last success.
    pub failing_since: Option<Millis>,
}

impl EndpointHealth {
    /// Records a success. Attempts that began before the endpoint asked for a pause do not end that pause.
    pub fn record_success(&mut self) {
        let open_until = if self.should_probe() { 0 } else { self.open_until };
        *self = Self { open_until, ..Self::default() };
    }

    /// Pauses a healthy endpoint until an instant.
    pub fn pause_until(&mut self, until: Millis) {
        *self = Self { open_until: until, ..Self::default() };
    }

    /// Records a failure. It does not count while the circuit is open, because that attempt began before.
    pub fn record_failure(&mut self, now: Millis) {
        self.failing_since.get_or_insert(now);
        if self.is_blocked(now) {
            return;
        }
        self.failures += 1;
        if self.failures >= FAILURES {
            let doublings = (self.failures - FAILURES).min(10);
            self.open_until = now + (OPEN.0 << doublings).min(OPEN.1);
        }
    }

    /// Whether no attempt may be made now.
    pub fn is_blocked(&self, now: Millis) -> bool {
        self.open_until > now
    }

    /// Whether the next attempt must be a single probe.
    pub fn should_probe(&self) -> bool {
        self.failures >= FAILURES
    }

    /// Whether the endpoint has failed for too long and must be disabled.
    pub fn should_disable(&self, now: Millis) -> bool {
        self.failing_since.is_some_and(|since| now - since >= HOPELESS)
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointHealth, HOPELESS, retry_delay};

    #[test]
    fn it_is_tried_nine_times_with_longer_and_longer_pauses() {
        let pauses: Vec<_> =
            (1..).map_while(|attempts| retry_delay(attempts, 500, None)).map(|millis| millis / 1000).collect();
        assert_eq!(pauses, [5, 60, 300, 1800, 7201, 18003, 36007, 36007]);
        assert_eq!([0, 999].map(|chance| retry_delay(2, chance, None)), [Some(48_000), Some(72_000)]);
        assert_eq!([retry_delay(0, 0, None), retry_delay(9, 0, None)], [None, None]);
    }

    #[test]
    fn a_receiver_may_ask_for_up_to_twice_the_pause() {
        for (asked, given) in [(0, 5_000), (7_000, 7_000), (3_600_000, 10_000), (-1, 5_000)] {
            assert_eq!(retry_delay(1, 0, Some(asked)), Some(given));
        }
    }

    #[test]
    fn five_failures_open_it_for_longer_and_longer_and_a_success_closes_it() {
        let (mut health, mut now) = (EndpointHealth::default(), 1_000_000);
        for _ in 0..4 {
            health.record_failure(now);
            assert!(!health.is_blocked(now) && !health.should_probe());
        }
        let mut pauses = Vec::new();
        for _ in 0..7 {
            health.record_failure(now);
            health.record_failure(now);
            assert!(health.is_blocked(now) && health.should_probe());
            pauses.push((health.open_until - now) / 1000);
            now = health.open_until;
        }
        assert_eq!(pauses, [30, 60, 120, 240, 480, 900, 900]);
        assert_eq!(health.failing_since, Some(1_000_000));
        assert!(!health.should_disable(1_000_000 + HOPELESS - 1) && health.should_disable(1_000_000 + HOPELESS));
        health.record_success();
        assert_eq!(health, EndpointHealth::default());
    }

    #[test]
    fn one_that_rests_is_well_and_goes_on_when_it_is_over() {
        let mut health = EndpointHealth { failures: 7, open_until: 10, failing_since: Some(1) };
        health.pause_until(5000);
        health.record_success();
        assert_eq!(health, EndpointHealth { open_until: 5000, ..EndpointHealth::default() });
        assert!(health.is_blocked(4999) && !health.is_blocked(5000) && !health.should_probe());
    }
}

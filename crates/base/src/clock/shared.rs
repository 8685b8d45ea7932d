//! The clock that all nodes of a database share.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

use super::{Clock, Millis};

/// The most milliseconds that a node's clock and the database's may differ. Beyond that, the server does nothing
/// irreversible by either.
pub const MOST: Millis = 60_000;

/// The database's time, as a node knows it without a query.
///
/// The node reads the database's clock now and then and advances it with the machine's monotonic clock. So nodes agree
/// to within a round trip, and setting the machine's clock has no effect. If the machine's clock and the database's
/// differ by more than a minute, one of them is wrong. The node then continues from the time when they last agreed, or
/// follows the database if they never did. Meanwhile it deletes nothing that was sent, and publishes nothing scheduled.
///
/// With SQLite, and with a clock set by a test, the node's own clock is used alone.
#[derive(Debug)]
pub struct SharedClock {
    own: Clock,
    follows: bool,
    began: Instant,
    /// The shared time at `began`.
    began_at: AtomicI64,
    has_settled: AtomicBool,
    /// Milliseconds that this machine's clock is ahead of the database's. Negative if it is behind.
    ahead: AtomicI64,
}

impl SharedClock {
    /// Starts from the node's own clock. `has_other`: whether the database has a clock of its own to follow.
    pub fn new(own: Clock, has_other: bool) -> Self {
        let (follows, began_at) = (has_other && !own.is_fixed(), own.now());
        Self {
            own,
            follows,
            began: Instant::now(),
            began_at: AtomicI64::new(began_at),
            has_settled: AtomicBool::new(false),
            ahead: AtomicI64::new(0),
        }
    }

    /// The time in milliseconds since 1970.
    pub fn now(&self) -> Millis {
        if !self.follows {
            return self.own.now();
        }
        let passed = Millis::try_from(self.began.elapsed().as_millis()).unwrap_or(Millis::MAX);
        self.began_at.load(Ordering::SeqCst).saturating_add(passed)
    }

    /// Reads the database's clock, and follows it unless the two clocks disagree.
    ///
    /// The answer is from some moment between the request and its arrival. Only the part outside that interval counts
    /// as a difference, so a slow answer does not move a correct clock.
    pub async fn compare_with<E>(&self, elsewhere: impl Future<Output = Result<Millis, E>>) -> Result<(), E> {
        if !self.follows {
            return Ok(());
        }
        let asked = (self.own.now(), self.now());
        let theirs = elsewhere.await?;
        let answered = (self.own.now(), self.now());
        let ahead = certain_lead(theirs, asked.0, answered.0);
        self.ahead.store(ahead, Ordering::SeqCst);
        if ahead.abs() <= MOST {
            self.has_settled.store(true, Ordering::SeqCst);
        }
        if ahead.abs() <= MOST || !self.has_settled.load(Ordering::SeqCst) {
            self.began_at.fetch_sub(certain_lead(theirs, asked.1, answered.1), Ordering::SeqCst);
        }
        Ok(())
    }

    /// Milliseconds that this machine's clock was ahead of the database's at the last comparison. Negative if behind.
    pub fn ahead_millis(&self) -> Millis {
        self.ahead.load(Ordering::SeqCst)
    }

    /// Whether one of the two clocks must be wrong.
    pub fn is_in_doubt(&self) -> bool {
        self.ahead_millis().abs() > MOST
    }

    /// The difference, for logs and `/readyz`.
    pub fn describe_difference(&self) -> String {
        match self.ahead_millis() / 1000 {
            0 => "the clock of this node agrees with the database's".into(),
            seconds @ ..0 => format!("the clock of this node is {} s behind the database's", seconds.abs()),
            seconds => format!("the clock of this node is {seconds} s ahead of the database's"),
        }
    }
}

/// By how much a clock that read `asked` before and `answered` after is certainly ahead of `theirs`.
fn certain_lead(theirs: Millis, asked: Millis, answered: Millis) -> Millis {
    if theirs < asked {
        asked.saturating_sub(theirs)
    } else if theirs > answered {
        answered.saturating_sub(theirs)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use chrono::TimeDelta;

    use super::{Clock, SharedClock};

    const DAY: i64 = 86_400_000;

    /// The node reads a database clock that is off by this many milliseconds.
    async fn hear(node: &SharedClock, off: i64) {
        node.compare_with(async { Ok::<_, Infallible>(Clock::System.now() + off) }).await.unwrap();
    }

    /// By how many seconds the node is off, rounded to 10 s.
    fn off(node: &SharedClock) -> i64 {
        (node.now() - Clock::System.now() + 5_000).div_euclid(10_000) * 10
    }

    #[tokio::test]
    async fn a_node_goes_by_the_database_whatever_its_own_clock_says() {
        for days in [-40, 0, 40] {
            let node = SharedClock::new(Clock::skewed_by(TimeDelta::days(days)), true);
            hear(&node, 0).await;
            assert_eq!((off(&node), node.is_in_doubt()), (0, days != 0));
        }
        let near = SharedClock::new(Clock::skewed_by(TimeDelta::seconds(50)), true);
        hear(&near, 0).await;
        assert_eq!((off(&near), near.is_in_doubt()), (0, false));
    }

    #[tokio::test]
    async fn a_clock_that_jumps_later_changes_nothing() {
        let own = Clock::skewed_by(TimeDelta::zero());
        let node = SharedClock::new(own.clone(), true);
        hear(&node, 0).await;
        own.advance(TimeDelta::days(40));
        assert_eq!(off(&node), 0, "before the clocks are compared");
        hear(&node, 0).await;
        assert_eq!((off(&node), node.is_in_doubt()), (0, true));
        assert_eq!(node.describe_difference(), "the clock of this node is 3456000 s ahead of the database's");
        own.advance(TimeDelta::days(-40));
        hear(&node, 0).await;
        assert!(!node.is_in_doubt());
        hear(&node, 40 * DAY).await;
        assert_eq!((off(&node), node.is_in_doubt()), (0, true), "the database's");
        hear(&node, 0).await;
        assert_eq!((off(&node), node.is_in_doubt()), (0, false));
    }

    #[tokio::test]
    async fn an_answer_that_took_long_moves_nothing_that_is_right() {
        let own = Clock::skewed_by(TimeDelta::zero());
        let node = SharedClock::new(own.clone(), true);
        let late = async {
            let then = Clock::System.now();
            own.advance(TimeDelta::minutes(10));
            Ok::<_, Infallible>(then)
        };
        node.compare_with(late).await.unwrap();
        assert_eq!((off(&node), node.is_in_doubt()), (0, false));
    }

    #[test]
    fn a_clock_that_a_test_sets_is_not_compared() {
        let set = Clock::fixed_at(super::super::to_date_time(7));
        assert_eq!(SharedClock::new(set, true).now(), 7);
    }
}

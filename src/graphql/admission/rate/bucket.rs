//! A token bucket: it holds the allowance of a time span, and refills steadily.

use base::clock::Millis;

/// A number of things per time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateLimit {
    pub many: u32,
    pub millis: Millis,
}

impl RateLimit {
    /// This many per minute.
    pub fn per_minute(many: u32) -> Self {
        Self { many, millis: 60 * 1000 }
    }

    /// This many per day.
    pub fn per_day(many: u32) -> Self {
        Self { many, millis: 24 * 60 * 60 * 1000 }
    }

    /// Seconds until the missing parts have been refilled, at least 1.
    pub fn refill_seconds(self, missing: i64) -> u64 {
        let per_second = i64::from(self.many) * 1000;
        let seconds = missing.saturating_add(per_second - 1).div_euclid(per_second);
        u64::try_from(seconds).unwrap_or(1).max(1)
    }

    fn capacity(self) -> i64 {
        i64::from(self.many) * self.millis
    }
}

/// The rest of a caller's allowance.
#[derive(Debug)]
pub struct TokenBucket {
    /// In parts: a thing has as many parts as the allowance has milliseconds, so that whole parts refill each
    /// millisecond.
    left: i64,
    looked_at: Millis,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new_full(of: RateLimit, now: Millis) -> Self {
        Self { left: of.capacity(), looked_at: now }
    }

    /// Takes things, at most a full bucket. If parts are missing, it takes nothing and returns their number. A negative
    /// number gives things back.
    pub fn try_take(&mut self, of: RateLimit, things: i64, now: Millis) -> i64 {
        self.refill(of, now);
        let asked = things.saturating_mul(of.millis).min(of.capacity());
        if asked > self.left {
            return asked - self.left;
        }
        self.left = (self.left - asked).min(of.capacity());
        0
    }

    /// Takes things that were already used, even beyond the content of the bucket. Returns the parts that it lacks now.
    pub fn force_take(&mut self, of: RateLimit, things: i64, now: Millis) -> i64 {
        self.refill(of, now);
        self.left = self.left.saturating_sub(things.saturating_mul(of.millis)).min(of.capacity());
        (-self.left).max(0)
    }

    /// Whether the whole allowance is there.
    pub fn is_full(&mut self, of: RateLimit, now: Millis) -> bool {
        self.refill(of, now);
        self.left == of.capacity()
    }

    fn refill(&mut self, of: RateLimit, now: Millis) {
        let passed = now.saturating_sub(self.looked_at).max(0);
        self.left = self.left.saturating_add(passed.saturating_mul(of.many.into())).min(of.capacity());
        self.looked_at = self.looked_at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::{RateLimit, TokenBucket};

    fn wait(bucket: &mut TokenBucket, operations: i64, now: i64) -> Option<u64> {
        match bucket.try_take(RateLimit::per_minute(60), operations, now) {
            0 => None,
            missing => Some(RateLimit::per_minute(60).refill_seconds(missing)),
        }
    }

    #[test]
    fn what_is_used_already_is_owed() {
        let (of, mut bucket) = (RateLimit::per_minute(60), TokenBucket::new_full(RateLimit::per_minute(60), 0));
        assert_eq!(bucket.force_take(of, 60, 0), 0);
        let missing = bucket.force_take(of, 30, 0);
        assert_eq!(of.refill_seconds(missing), 30);
        assert!(bucket.force_take(of, 0, 29_000) > 0 && bucket.force_take(of, 0, 30_000) == 0);
        assert!(!bucket.is_full(of, 89_999) && bucket.is_full(of, 90_000));
        assert_eq!(bucket.force_take(of, -1000, 90_000), 0, "what was reserved in vain comes back");
        assert!(bucket.is_full(of, 90_000));
    }

    #[test]
    fn a_bucket_fills_by_the_second_and_says_how_long() {
        let mut bucket = TokenBucket::new_full(RateLimit::per_minute(60), 0);
        assert_eq!(wait(&mut bucket, 59, 0), None);
        assert_eq!(wait(&mut bucket, 3, 0), Some(2));
        assert_eq!(wait(&mut bucket, 1, 0), None);
        assert_eq!(wait(&mut bucket, 1, 999), Some(1));
        assert_eq!(wait(&mut bucket, 1, 1000), None);
        assert_eq!(wait(&mut bucket, 1000, 3_600_000), None, "more than a full bucket takes a full one");
        assert_eq!(wait(&mut bucket, 1, 3_600_000), Some(1));
        assert_eq!(wait(&mut bucket, 1, 0), Some(1), "a clock that goes back gives nothing");
    }
}

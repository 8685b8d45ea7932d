//! A bucket of tokens: it holds those of a minute, and fills steadily.

use crate::clock::Millis;

/// What one operation takes: so much of it comes back in a millisecond as there are operations in a minute.
pub const OPERATION: i64 = 60_000;

/// What somebody has left.
#[derive(Debug)]
pub struct Bucket {
    /// In 1/60,000 of an operation.
    left: i64,
    looked_at: Millis,
}

impl Bucket {
    /// All operations of a minute.
    pub fn full(rate: u32, now: Millis) -> Self {
        Self { left: i64::from(rate) * OPERATION, looked_at: now }
    }

    /// Takes so many operations, at most a full bucket; returns what is missing for that, and takes nothing then.
    pub fn take(&mut self, rate: u32, operations: usize, now: Millis) -> i64 {
        let (rate, full) = (i64::from(rate), i64::from(rate) * OPERATION);
        let passed = now.saturating_sub(self.looked_at).max(0);
        self.left = self.left.saturating_add(passed.saturating_mul(rate)).min(full);
        self.looked_at = self.looked_at.max(now);
        let asked = i64::try_from(operations).unwrap_or(i64::MAX).saturating_mul(OPERATION).min(full);
        if asked > self.left {
            return asked - self.left;
        }
        self.left -= asked;
        0
    }
}

/// How long it takes until what is missing has come, in seconds, at least 1.
pub fn seconds(rate: u32, missing: i64) -> u64 {
    let per_second = i64::from(rate) * 1000;
    let seconds = missing.saturating_add(per_second - 1).div_euclid(per_second);
    u64::try_from(seconds).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::{Bucket, seconds};

    fn wait(bucket: &mut Bucket, operations: usize, now: i64) -> Option<u64> {
        match bucket.take(60, operations, now) {
            0 => None,
            missing => Some(seconds(60, missing)),
        }
    }

    #[test]
    fn a_bucket_fills_by_the_second_and_says_how_long() {
        let mut bucket = Bucket::full(60, 0);
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

//! How many operations a caller may run: a bucket of tokens each, in this process.

use std::sync::{Arc, Mutex, PoisonError};

use entity::ids::TenantId;
use moka::future::Cache;

use crate::auth::Role;
use crate::clock::Millis;
use crate::config::LimitsConfig;
use crate::error::{Error, Result};
use crate::graphql::Viewer;

/// Callers that are remembered. One who is forgotten begins anew with a full bucket.
const CALLERS: u64 = 100_000;

const MINUTE: i64 = 60_000;

/// The buckets of all callers. Several processes over one database count for themselves.
#[derive(Clone, Debug)]
pub struct Rates {
    user: u32,
    staff: u32,
    buckets: Cache<(TenantId, Role, String), Arc<Mutex<Bucket>>>,
}

#[derive(Debug)]
struct Bucket {
    /// What is left, in 1/60,000 of an operation: `rate` of them come each millisecond.
    left: i64,
    looked_at: Millis,
}

impl Rates {
    /// Full buckets of the sizes that the settings say.
    pub fn new(limits: &LimitsConfig) -> Self {
        Self { user: limits.rate, staff: limits.staff_rate, buckets: Cache::new(CALLERS) }
    }

    /// Takes so many operations out of a caller's bucket, which holds those of a minute; `RATE_LIMITED` where it has
    /// not got them. A single request is never larger than a full bucket. All who have no token share one.
    pub async fn take(&self, viewer: Option<&Viewer>, operations: usize, now: Millis) -> Result<()> {
        let role = viewer.map_or(Role::User, |viewer| viewer.role);
        let rate = if role == Role::User { self.user } else { self.staff };
        if rate == 0 || operations == 0 {
            return Ok(());
        }
        let caller = match viewer {
            Some(viewer) => (viewer.tenant.id, role, viewer.sub.clone()),
            None => (TenantId::default(), role, String::new()),
        };
        let full = || Arc::new(Mutex::new(Bucket { left: i64::from(rate) * MINUTE, looked_at: now }));
        let bucket = self.buckets.get_with(caller, async { full() }).await;
        bucket.lock().unwrap_or_else(PoisonError::into_inner).take(rate, operations, now)
    }
}

impl Bucket {
    fn take(&mut self, rate: u32, operations: usize, now: Millis) -> Result<()> {
        let (rate, full) = (i64::from(rate), i64::from(rate) * MINUTE);
        let passed = now.saturating_sub(self.looked_at).max(0);
        self.left = self.left.saturating_add(passed.saturating_mul(rate)).min(full);
        self.looked_at = self.looked_at.max(now);
        let asked = i64::try_from(operations).unwrap_or(i64::MAX).saturating_mul(MINUTE).min(full);
        if asked > self.left {
            let per_second = rate * 1000;
            let retry_after = (asked - self.left + per_second - 1).div_euclid(per_second);
            return Err(Error::RateLimited { retry_after: u64::try_from(retry_after).unwrap_or(1).max(1) });
        }
        self.left -= asked;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, MINUTE};

    fn wait(bucket: &mut Bucket, operations: usize, now: i64) -> Option<u64> {
        match bucket.take(60, operations, now) {
            Ok(()) => None,
            Err(crate::error::Error::RateLimited { retry_after }) => Some(retry_after),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_bucket_fills_by_the_second_and_says_how_long() {
        let mut bucket = Bucket { left: 60 * MINUTE, looked_at: 0 };
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

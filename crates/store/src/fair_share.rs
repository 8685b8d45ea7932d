//! Limits how many connections one tenant and one user may use, for transactions and for reads.
//!
//! A request that waits for a row lock keeps its connection meanwhile. Without this limit, requests of one tenant or
//! user could hold all connections, and every other tenant would wait for an unrelated lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// When this many principals are tracked, those without active work are removed.
const PARTIES: usize = 1000;

/// The principal that work is done for: a tenant or one of its users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    tenant: i64,
    user: Option<Arc<str>>,
}

/// Statements that one request may run concurrently outside of transactions.
const AT_ONCE: usize = 2;

tokio::task_local! {
    static PARTY: RequestPermits;
}

/// The request of the current task.
struct RequestPermits {
    party: Principal,
    places: Arc<Semaphore>,
    /// One more than the era ([`super::LineageFence::era`]) of the request's first connection; 0 before that.
    era: AtomicU64,
}

impl Principal {
    /// A tenant, its backend, or its operator.
    pub fn for_tenant(tenant: impl Into<i64>) -> Self {
        Self { tenant: tenant.into(), user: None }
    }

    /// A user of a tenant.
    pub fn for_user(tenant: impl Into<i64>, user: &str) -> Self {
        Self { tenant: tenant.into(), user: Some(user.into()) }
    }

    /// Whether the current task runs on behalf of a request.
    pub fn is_set() -> bool {
        PARTY.try_with(|_| ()).is_ok()
    }

    /// Whether the current request has had no connection yet, or all of them in this era.
    pub fn is_in_era(era: u64) -> bool {
        let is_of = |request: &RequestPermits| {
            let first = request.era.compare_exchange(0, era + 1, Ordering::Relaxed, Ordering::Relaxed);
            first.err().is_none_or(|first| first == era + 1)
        };
        PARTY.try_with(is_of).unwrap_or(true)
    }

    /// Runs work as one request of this principal: its transactions and statements count against the principal's
    /// limits.
    pub fn run_as<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        PARTY.scope(RequestPermits { party: self, places, era: AtomicU64::new(0) }, work)
    }
}

/// The permits of all principals for one pool.
#[derive(Debug)]
pub struct FairShareLimiter {
    of_tenant: usize,
    of_user: usize,
    parties: Mutex<HashMap<Principal, Arc<Semaphore>>>,
}

/// A permit of the request, the user and the tenant, held until it is dropped.
#[derive(Debug, Default)]
pub struct FairSharePermit {
    _request: Option<OwnedSemaphorePermit>,
    _user: Option<OwnedSemaphorePermit>,
    _tenant: Option<OwnedSemaphorePermit>,
}

impl FairShareLimiter {
    /// For a pool of `connections`: a tenant may use three quarters of them, a user a quarter, and each at least one.
    pub fn for_connections(connections: usize) -> Self {
        let (of_tenant, of_user) = ((connections * 3 / 4).max(1), (connections / 4).max(1));
        Self { of_tenant, of_user, parties: Mutex::default() }
    }

    /// Waits for a permit for a statement of the current request, which may hold at most two. Work without a principal
    /// is not limited.
    pub async fn acquire_read(&self) -> FairSharePermit {
        let Ok(places) = PARTY.try_with(|request| request.places.clone()) else { return FairSharePermit::default() };
        // The semaphore is never closed.
        let request = places.acquire_owned().await.ok();
        FairSharePermit { _request: request, ..self.acquire().await }
    }

    /// Waits for a permit for the current principal. Work without a principal is not limited.
    pub async fn acquire(&self) -> FairSharePermit {
        let Ok(party) = PARTY.try_with(|request| request.party.clone()) else { return FairSharePermit::default() };
        let tenant = Principal { user: None, ..party };
        let user = match party.user {
            Some(_) => self.acquire_permit(party, self.of_user).await,
            None => None,
        };
        FairSharePermit { _request: None, _user: user, _tenant: self.acquire_permit(tenant, self.of_tenant).await }
    }

    async fn acquire_permit(&self, of: Principal, many: usize) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut parties = self.parties.lock();
            if parties.len() >= PARTIES {
                parties.retain(|_, places| Arc::strong_count(places) > 1);
            }
            parties.entry(of).or_insert_with(|| Arc::new(Semaphore::new(many))).clone()
        };
        // The semaphore is never closed.
        places.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn two_statements_of_a_request_and_a_quarter_of_the_connections_of_a_user_are_under_way() {
        let shares = FairShareLimiter::for_connections(16);
        let of_ada = || Principal::for_user(1, "ada");
        let request =
            |party: Principal| party.run_as(async { [shares.acquire_read().await, shares.acquire_read().await] });
        let third = async {
            let _two = [shares.acquire_read().await, shares.acquire_read().await];
            shares.acquire_read().now_or_never().is_none()
        };
        assert!(of_ada().run_as(third).await, "the third of a request waits");
        let _four = [request(of_ada()).await, request(of_ada()).await];
        assert!(
            of_ada().run_as(async { shares.acquire_read().now_or_never().is_none() }).await,
            "the fifth of a user waits"
        );
        assert!(Principal::for_user(1, "ben").run_as(async { shares.acquire_read().now_or_never().is_some() }).await);
        assert!(Principal::for_user(2, "ada").run_as(async { shares.acquire_read().now_or_never().is_some() }).await);
    }
}

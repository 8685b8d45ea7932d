//! How many of the connections one tenant and one user may have, in transactions and for what they read.
//!
//! Whoever waits for a row that somebody holds keeps a connection meanwhile. If a tenant's requests had all of them, or a user's,
//! everybody else would wait with them for something that is none of their business.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Parties that are remembered before those are forgotten of whom nothing is under way.
const PARTIES: usize = 1000;

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    tenant: i64,
    user: Option<Arc<str>>,
}

/// Statements that a request may have under way at the same time, outside of transactions.
const AT_ONCE: usize = 2;

tokio::task_local! {
    static PARTY: Request;
}

/// Work for a party.
struct Request {
    party: Party,
    places: Arc<Semaphore>,
    /// In which its first connection was lent ([`super::Fence::era`]), and one more; 0 until then.
    era: AtomicU64,
}

impl Party {
    /// A tenant, or its backend or operator.
    pub fn tenant(tenant: impl Into<i64>) -> Self {
        Self { tenant: tenant.into(), user: None }
    }

    /// One of its users.
    pub fn user(tenant: impl Into<i64>, user: &str) -> Self {
        Self { tenant: tenant.into(), user: Some(user.into()) }
    }

    /// Whether what is done here is done for anybody who waits for it.
    pub fn is_known() -> bool {
        PARTY.try_with(|_| ()).is_ok()
    }

    /// Whether what is done here has had no connection yet, or had all of them in this era.
    pub fn is_of(era: u64) -> bool {
        let is_of = |request: &Request| {
            let first = request.era.compare_exchange(0, era + 1, Ordering::Relaxed, Ordering::Relaxed);
            first.err().is_none_or(|first| first == era + 1)
        };
        PARTY.try_with(is_of).unwrap_or(true)
    }

    /// Does work whose transactions and statements count as this party's, as one request of theirs.
    pub fn does<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        PARTY.scope(Request { party: self, places, era: AtomicU64::new(0) }, work)
    }
}

/// What is under way.
#[derive(Debug)]
pub struct Shares {
    of_tenant: usize,
    of_user: usize,
    parties: Mutex<HashMap<Party, Arc<Semaphore>>>,
}

/// A place among what a user and a tenant have under way, until it is dropped.
#[derive(Debug, Default)]
pub struct Share {
    _request: Option<OwnedSemaphorePermit>,
    _user: Option<OwnedSemaphorePermit>,
    _tenant: Option<OwnedSemaphorePermit>,
}

impl Shares {
    /// Of so many connections a tenant may have three quarters, and a user of it a quarter; one at least.
    pub fn of(connections: usize) -> Self {
        let (of_tenant, of_user) = ((connections * 3 / 4).max(1), (connections / 4).max(1));
        Self { of_tenant, of_user, parties: Mutex::default() }
    }

    /// Waits for a place for a statement of whoever this is done for, of whose request no more than two have one. What is done
    /// for nobody needs none.
    pub async fn turn(&self) -> Share {
        let Ok(places) = PARTY.try_with(|request| request.places.clone()) else { return Share::default() };
        // It is never closed.
        let request = places.acquire_owned().await.ok();
        Share { _request: request, ..self.take().await }
    }

    /// Waits for a place for whoever this is done for. What is done for nobody needs none.
    pub async fn take(&self) -> Share {
        let Ok(party) = PARTY.try_with(|request| request.party.clone()) else { return Share::default() };
        let tenant = Party { user: None, ..party };
        let user = match party.user {
            Some(_) => self.place(party, self.of_user).await,
            None => None,
        };
        Share { _request: None, _user: user, _tenant: self.place(tenant, self.of_tenant).await }
    }

    async fn place(&self, of: Party, many: usize) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut parties = self.parties.lock();
            if parties.len() >= PARTIES {
                parties.retain(|_, places| Arc::strong_count(places) > 1);
            }
            parties.entry(of).or_insert_with(|| Arc::new(Semaphore::new(many))).clone()
        };
        // It is never closed.
        places.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn two_statements_of_a_request_and_a_quarter_of_the_connections_of_a_user_are_under_way() {
        let shares = Shares::of(16);
        let of_ada = || Party::user(1, "ada");
        let request = |party: Party| party.does(async { [shares.turn().await, shares.turn().await] });
        let third = async {
            let _two = [shares.turn().await, shares.turn().await];
            shares.turn().now_or_never().is_none()
        };
        assert!(of_ada().does(third).await, "the third of a request waits");
        let _four = [request(of_ada()).await, request(of_ada()).await];
        assert!(of_ada().does(async { shares.turn().now_or_never().is_none() }).await, "the fifth of a user waits");
        assert!(Party::user(1, "ben").does(async { shares.turn().now_or_never().is_some() }).await);
        assert!(Party::user(2, "ada").does(async { shares.turn().now_or_never().is_some() }).await);
    }
}

//! How many of the connections one tenant and one user may have in transactions.
//!
//! Whoever waits for a row that somebody holds keeps a connection meanwhile. If a tenant's requests had all of them, or a user's,
//! everybody else would wait with them for something that is none of their business.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Parties that are remembered before those are forgotten of whom nothing is under way.
const PARTIES: usize = 1000;

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    tenant: i64,
    user: Option<Arc<str>>,
}

tokio::task_local! {
    static PARTY: Party;
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

    /// Does work whose transactions count as this party's.
    pub fn does<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        PARTY.scope(self, work)
    }
}

/// What is under way.
#[derive(Debug)]
pub struct Shares {
    of_tenant: usize,
    of_user: usize,
    parties: Mutex<HashMap<Party, Arc<Semaphore>>>,
}

/// A place among the transactions of a user and a tenant, until it is dropped.
#[derive(Debug, Default)]
pub struct Share {
    _user: Option<OwnedSemaphorePermit>,
    _tenant: Option<OwnedSemaphorePermit>,
}

impl Shares {
    /// Of so many connections a tenant may have three quarters in transactions, and a user of it a quarter; one at least.
    pub fn of(connections: usize) -> Self {
        let (of_tenant, of_user) = ((connections * 3 / 4).max(1), (connections / 4).max(1));
        Self { of_tenant, of_user, parties: Mutex::default() }
    }

    /// Waits for a place for whoever this is done for. What is done for nobody needs none.
    pub async fn take(&self) -> Share {
        let Ok(party) = PARTY.try_with(Clone::clone) else { return Share::default() };
        let tenant = Party { user: None, ..party };
        let user = match party.user {
            Some(_) => self.place(party, self.of_user).await,
            None => None,
        };
        Share { _user: user, _tenant: self.place(tenant, self.of_tenant).await }
    }

    async fn place(&self, of: Party, many: usize) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut parties = self.parties.lock().unwrap_or_else(PoisonError::into_inner);
            if parties.len() >= PARTIES {
                parties.retain(|_, places| Arc::strong_count(places) > 1);
            }
            parties.entry(of).or_insert_with(|| Arc::new(Semaphore::new(many))).clone()
        };
        // It is never closed.
        places.acquire_owned().await.ok()
    }
}

//! How many scans of a source run at a time, and how many of one tenant among them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::failure::Failure;

/// How long a stopping server waits for scans to end.
const CLOSES_WITHIN: Duration = Duration::from_secs(3);

/// The places of a source.
#[derive(Debug)]
pub struct Places {
    count: u32,
    all: Arc<Semaphore>,
    /// The most of one tenant.
    share: usize,
    /// Of tenants that have scans running or waiting.
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A scan's place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    _of_tenant: OwnedSemaphorePermit,
    _of_source: OwnedSemaphorePermit,
}

impl Places {
    /// A source of several tenants lends each of them half of its connections at most, and at least one.
    pub fn new(count: u32, is_shared: bool) -> Self {
        let all = count as usize;
        let share = if is_shared { (all / 2).max(1) } else { all };
        Self { count, all: Arc::new(Semaphore::new(all)), share, tenants: Mutex::default() }
    }

    pub fn count(&self) -> usize {
        self.count as usize
    }

    pub fn share(&self) -> usize {
        self.share
    }

    /// A place for a scan of a tenant. A tenant waits for its own share first, so that of the scans that wait for the source at most
    /// this many are one tenant's.
    pub async fn take(&self, tenant: &str, patience: Duration) -> Result<Place, Failure> {
        let of_tenant = self.of_tenant(tenant);
        let both = async {
            let of_tenant = of_tenant.acquire_owned().await.map_err(|_| Failure::closing())?;
            let of_source = self.all.clone().acquire_owned().await.map_err(|_| Failure::closing())?;
            Ok(Place { _of_tenant: of_tenant, _of_source: of_source })
        };
        timeout(patience, both).await.unwrap_or_else(|_| Err(Failure::no_connection()))
    }

    fn of_tenant(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock();
        tenants.retain(|_, permits| Arc::strong_count(permits) > 1);
        tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.share))).clone()
    }

    /// Waits until no scan runs, for three seconds at most, and gives no place from then on.
    pub async fn close(&self) {
        let _ = timeout(CLOSES_WITHIN, self.all.acquire_many(self.count)).await;
        self.all.close();
    }
}

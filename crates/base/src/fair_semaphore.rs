//! A semaphore that lets each key hold only a share of its permits, so that one tenant or network cannot block others.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Grants permits by key.
#[derive(Debug)]
pub struct FairSemaphore<K> {
    permits: u32,
    permits_per_key: u32,
    all: Arc<Semaphore>,
    /// Semaphores of the keys that hold permits or wait for one.
    by_key: Mutex<HashMap<K, Arc<Semaphore>>>,
}

/// A permit. Dropping it returns it.
#[derive(Debug)]
pub struct FairPermit {
    _of_key: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl<K: Eq + Hash> FairSemaphore<K> {
    /// With this many permits. One key may hold at most `permits_per_key` of them.
    pub fn new(permits: u32, permits_per_key: u32) -> Self {
        Self { permits, permits_per_key, all: Arc::new(Semaphore::new(permits as usize)), by_key: Mutex::default() }
    }

    /// The most permits that one key may hold.
    pub fn permits_per_key(&self) -> u32 {
        self.permits_per_key
    }

    /// Waits for a permit, for `patience` at most. `None` if there was none in time, or after [`Self::close`].
    pub async fn acquire(&self, key: K, patience: Duration) -> Option<FairPermit> {
        let of_key = self.semaphore_for_key(key);
        let both = async {
            // The key's own permit comes first: tasks that wait for it do not block the queue of the other keys.
            let of_key = of_key.acquire_owned().await.ok()?;
            let of_all = self.all.clone().acquire_owned().await.ok()?;
            Some(FairPermit { _of_key: of_key, _of_all: of_all })
        };
        timeout(patience, both).await.ok().flatten()
    }

    fn semaphore_for_key(&self, key: K) -> Arc<Semaphore> {
        let mut by_key = self.by_key.lock();
        // Permits and waiting tasks hold a reference each.
        by_key.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        by_key.entry(key).or_insert_with(|| Arc::new(Semaphore::new(self.permits_per_key as usize))).clone()
    }

    /// Waits until all permits are returned, for `patience` at most. Then grants no more.
    pub async fn close(&self, patience: Duration) {
        let _ = timeout(patience, self.all.acquire_many(self.permits)).await;
        self.all.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn a_key_holds_its_share_and_leaves_the_rest_to_others() {
        let semaphore = FairSemaphore::new(4, 2);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(semaphore.acquire("one", PATIENCE).await.unwrap());
        }
        assert!(semaphore.acquire("one", PATIENCE).await.is_none());
        let mut waits = Box::pin(semaphore.acquire("one", PATIENCE));
        assert!(poll_immediate(&mut waits).await.is_none());
        assert!(poll_immediate(semaphore.acquire("other", PATIENCE)).await.is_some());
        held.pop();
        assert!(waits.await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn all_keys_together_hold_all_permits_at_most() {
        let semaphore = FairSemaphore::new(2, 1);
        let held = [semaphore.acquire(1, PATIENCE).await, semaphore.acquire(2, PATIENCE).await];
        assert!(held.iter().all(Option::is_some));
        assert!(semaphore.acquire(3, PATIENCE).await.is_none());
        drop(held);
        assert!(semaphore.acquire(3, PATIENCE).await.is_some());
        semaphore.close(PATIENCE).await;
        assert!(semaphore.acquire(3, PATIENCE).await.is_none());
    }

    #[tokio::test]
    async fn a_key_without_permits_is_forgotten() {
        let semaphore = FairSemaphore::new(2, 1);
        for key in 0..100 {
            assert!(semaphore.acquire(key, PATIENCE).await.is_some());
        }
        assert_eq!(semaphore.by_key.lock().len(), 1);
    }
}

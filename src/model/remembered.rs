//! A few things that are remembered of each user; of users, those who ask least go first.

use std::sync::Arc;

use entity::ids::UserId;
use moka::future::Cache;

/// What may be remembered of a user.
pub trait Remembered: Send + Sync + 'static {
    /// So many of a user, of which the oldest goes first.
    const MOST: usize;

    /// In bytes, with its place. What others remember too counts for each.
    fn weight(&self) -> usize;

    /// Whether it takes the place of another one.
    fn replaces(&self, other: &Self) -> bool;
}

/// Of each user who has any.
#[derive(Debug)]
pub struct OfUsers<T: Remembered>(Cache<UserId, Arc<Vec<Arc<T>>>>);

impl<T: Remembered> OfUsers<T> {
    /// Of about so many bytes.
    pub fn new(bytes: u64) -> Self {
        let weigh = |_: &UserId, all: &Arc<Vec<Arc<T>>>| {
            let bytes: usize = all.iter().map(|one| one.weight()).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).build())
    }

    /// Whether anything is remembered at all.
    pub fn is_on(&self) -> bool {
        self.0.policy().max_capacity() != Some(0)
    }

    /// All of a user, oldest first.
    pub async fn all(&self, user: UserId) -> Option<Arc<Vec<Arc<T>>>> {
        self.0.get(&user).await
    }

    /// The one of a user that is it.
    pub async fn find(&self, user: UserId, is_it: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.all(user).await?.iter().find(|one| is_it(one)).cloned()
    }

    /// Remembers one more.
    pub async fn keep(&self, user: UserId, one: T) {
        if !self.is_on() {
            return;
        }
        let mut all = self.all(user).await.map(|known| known.to_vec()).unwrap_or_default();
        all.retain(|known| !one.replaces(known));
        if all.len() == T::MOST {
            all.remove(0);
        }
        all.push(Arc::new(one));
        self.put(user, all).await;
    }

    /// Remembers these and no others.
    pub async fn put(&self, user: UserId, all: Vec<Arc<T>>) {
        if all.is_empty() {
            return self.0.invalidate(&user).await;
        }
        self.0.insert(user, Arc::new(all)).await;
    }

    /// Spares the question whether those of users still hold, who are known to have changed.
    pub async fn forget(&self, users: &[UserId]) {
        for user in users {
            self.0.invalidate(user).await;
        }
    }

    /// Some of what is remembered, at most so many of it.
    pub fn some(&self, many: usize) -> Vec<Arc<T>> {
        self.0.iter().flat_map(|(_, all)| all.to_vec()).take(many).collect()
    }

    /// About how many bytes it takes, as it counts them.
    pub async fn weight(&self) -> u64 {
        self.0.run_pending_tasks().await;
        self.0.weighted_size()
    }
}

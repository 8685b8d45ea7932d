//! Data of several objects of a request, read in one batch.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::OnceCell;

use base::error::Result;

/// One value for each key. The first read loads the values of all keys.
#[derive(Debug)]
pub struct BatchLoader<Key, Value> {
    keys: Vec<Key>,
    all: OnceCell<HashMap<Key, Value>>,
}

impl<Key: Eq + Hash, Value> BatchLoader<Key, Value> {
    /// For these keys.
    pub fn for_keys(keys: Vec<Key>) -> Arc<Self> {
        Arc::new(Self { keys, all: OnceCell::new() })
    }

    /// The value of one key, or `None`. `read` loads the values of all.
    pub async fn load<'a, Reading>(
        &'a self,
        key: Key,
        read: impl FnOnce(&'a [Key]) -> Reading,
    ) -> Result<Option<&'a Value>>
    where
        Reading: Future<Output = Result<HashMap<Key, Value>>>,
    {
        let all = self.all.get_or_try_init(|| read(&self.keys)).await?;
        Ok(all.get(&key))
    }
}

//! What is read of several things that were asked for together, for all of them at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::error::Result;

/// Something of each of these, which is read as soon as it is asked of one.
#[derive(Debug)]
pub struct AtOnce<Key, Value> {
    keys: Vec<Key>,
    all: OnceCell<HashMap<Key, Value>>,
}

impl<Key: Eq + Hash, Value> AtOnce<Key, Value> {
    /// Of these.
    pub fn of(keys: Vec<Key>) -> Arc<Self> {
        Arc::new(Self { keys, all: OnceCell::new() })
    }

    /// That of one of them; nothing where there is none. `read` reads those of all.
    pub async fn get<'a, Reading>(
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

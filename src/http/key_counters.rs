//! Counters by key.

use std::collections::HashMap;
use std::hash::Hash;

/// A count for each key. A key with a count of zero takes no memory.
#[derive(Debug)]
pub struct KeyCounts<K>(HashMap<K, usize>);

impl<K> Default for KeyCounts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> KeyCounts<K> {
    /// The count of a key.
    pub fn get(&self, key: &K) -> usize {
        self.0.get(key).copied().unwrap_or_default()
    }

    /// Adds to the count of a key.
    pub fn add(&mut self, key: K, many: usize) {
        *self.0.entry(key).or_default() += many;
    }

    /// Subtracts from the count of a key.
    pub fn remove(&mut self, key: &K, many: usize) {
        let Some(left) = self.0.get_mut(key) else { return };
        *left = left.saturating_sub(many);
        if *left == 0 {
            self.0.remove(key);
        }
    }
}

//! How many there are of each; of whom there is none nothing is kept.

use std::collections::HashMap;
use std::hash::Hash;

/// How many there are of each key; a key of which there is none takes no memory.
#[derive(Debug)]
pub struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Counts<K> {
    /// How many there are of one.
    pub fn of(&self, key: &K) -> usize {
        self.0.get(key).copied().unwrap_or_default()
    }

    /// So many more.
    pub fn add(&mut self, key: K, many: usize) {
        *self.0.entry(key).or_default() += many;
    }

    /// So many less.
    pub fn remove(&mut self, key: &K, many: usize) {
        let Some(left) = self.0.get_mut(key) else { return };
        *left = left.saturating_sub(many);
        if *left == 0 {
            self.0.remove(key);
        }
    }
}

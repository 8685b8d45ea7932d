//! Interns values that sessions hold, so that equal values are stored once.
//!
//! This saves memory, and equal values can be compared by pointer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// The least number of entries at which dead entries are swept.
const MANY: usize = 1024;

/// A weak intern table.
#[derive(Debug)]
pub(super) struct WeakInterner<K, V> {
    known: HashMap<K, Weak<V>>,
    /// The number of entries at which dead ones are swept next.
    room: usize,
}

impl<K, V> Default for WeakInterner<K, V> {
    fn default() -> Self {
        Self { known: HashMap::new(), room: MANY }
    }
}

impl<K: Eq + Hash, V> WeakInterner<K, V> {
    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        self.known.get(key)?.upgrade()
    }

    pub fn insert(&mut self, key: K, value: &Arc<V>) {
        if self.known.len() >= self.room {
            self.remove_dead();
        }
        self.known.insert(key, Arc::downgrade(value));
    }

    /// Drops dead entries and frees their memory. Call it now and then.
    pub fn remove_unused(&mut self) {
        self.remove_dead();
        self.known.shrink_to_fit();
    }

    fn remove_dead(&mut self) {
        self.known.retain(|_, value| value.strong_count() > 0);
        self.room = MANY.max(2 * self.known.len());
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_remembers_is_forgotten() {
        let mut table = WeakInterner::default();
        let remembered = Arc::new("remembered");
        table.insert(0, &remembered);
        for key in 1..=10 * MANY {
            table.insert(key, &Arc::new("forgotten"));
            assert!(table.known.len() <= MANY);
        }
        assert!(table.get(&0).is_some_and(|value| Arc::ptr_eq(&value, &remembered)) && table.get(&1).is_none());
        table.remove_unused();
        assert_eq!(table.known.len(), 1);
    }
}

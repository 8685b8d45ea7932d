//! Hash maps with integer keys.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// For keys that the database generates or that are memory addresses. Callers cannot choose them, so no hash that
/// resists collision attacks is needed.
pub type IntegerKeyMap<K, V> = HashMap<K, V, RandomState>;

//! Tables by numbers.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// By numbers that the database gives out, or places in memory: nobody else can choose them so that all of them fall together, and so they
/// need no hash that withstands that.
pub type ByNumber<K, V> = HashMap<K, V, RandomState>;

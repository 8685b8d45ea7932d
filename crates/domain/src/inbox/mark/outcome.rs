//! The outcome of a mark.

use std::collections::BTreeMap;
use std::sync::Arc;

use entity::ids::TypeId;

use crate::catalogue::{Catalogue, MessageType};

/// The outcome of a mark, as the API returns it.
#[derive(Clone, Debug, Default)]
pub struct MarkOutcome {
    /// How many items changed. A lower bound if they were not counted.
    pub changed_count: u64,
    /// Their types, in catalogue order.
    pub types: Vec<Arc<MessageType>>,
}

/// How many items of each type were changed.
#[derive(Clone, Debug, Default)]
pub struct ChangeCounts {
    of: BTreeMap<TypeId, u64>,
    /// Whether the version of the user's row was already incremented.
    pub is_noted: bool,
}

impl ChangeCounts {
    pub fn add(&mut self, kind: TypeId, many: u64) {
        if many > 0 {
            *self.of.entry(kind).or_default() += many;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether the catalogue has all of the types.
    pub fn is_covered_by(&self, catalogue: &Catalogue) -> bool {
        self.of.keys().all(|kind| catalogue.type_by_id(*kind).is_some())
    }

    pub fn to_outcome(&self, catalogue: &Catalogue) -> MarkOutcome {
        let types = catalogue.types.iter().filter(|kind| self.of.contains_key(&kind.id)).cloned().collect();
        MarkOutcome { changed_count: self.of.values().sum(), types }
    }
}

//! What items show, kept once however many sessions remember it and however often it was read.
//!
//! It takes less memory, and what is in one place is known to be the same at a glance.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use entity::ids::Seq;

use crate::domain::inbox::Item;
use crate::domain::inbox::item::Content;

/// Entries from which on those that nobody remembers any more are looked for.
const MANY: usize = 1024;

/// The contents that sessions remember, by the place of their notification in the log.
#[derive(Debug, Default)]
pub(super) struct Contents {
    known: HashMap<Seq, Weak<Content>>,
    many: usize,
    /// What was last read, and what is shown for it: items come in the order of the log, all of one notification after each other.
    last: Option<(Arc<Content>, Arc<Content>)>,
}

impl Contents {
    /// Lets an item show what another one has been read with, if that is the same.
    pub fn share(&mut self, item: &mut Item) {
        if let Some((_, shown)) = self.last.as_ref().filter(|(read, _)| Arc::ptr_eq(read, &item.content)) {
            item.content = shown.clone();
            return;
        }
        let read = item.content.clone();
        match self.known.get(&item.seq).and_then(Weak::upgrade) {
            Some(known) if known.is_same(&item.content) => item.content = known,
            _ => drop(self.known.insert(item.seq, Arc::downgrade(&item.content))),
        }
        self.last = Some((read, item.content.clone()));
        if self.known.len() > self.many.max(MANY) {
            self.known.retain(|_, content| content.strong_count() > 0);
            self.many = 2 * self.known.len();
        }
    }
}

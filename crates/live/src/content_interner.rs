//! Interns the contents of items, so that each is in memory once, for all sessions and reads.

use std::sync::Arc;

use entity::ids::Seq;

use super::interner::WeakInterner;
use domain::inbox::UserItem;
use domain::inbox::item::ItemContent;
use model::reader::ReaderLocale;

/// The contents that sessions hold, by their notification's position in the log and their reader.
#[derive(Debug, Default)]
pub(super) struct ContentInterner {
    known: WeakInterner<(Seq, Option<Arc<ReaderLocale>>), ItemContent>,
    /// The content read last and its interned equal. Items come in log order, so those of a notification are adjacent.
    last: Option<(Arc<ItemContent>, Arc<ItemContent>)>,
}

impl ContentInterner {
    /// Replaces an item's content by the interned one if both are equal.
    pub fn intern(&mut self, item: &mut UserItem) {
        if let Some((_, shown)) = self.last.as_ref().filter(|(read, _)| Arc::ptr_eq(read, &item.content)) {
            item.content = shown.clone();
            return;
        }
        let read = item.content.clone();
        let key = (item.seq, read.reader.clone());
        match self.known.get(&key) {
            Some(known) if known.is_same(&item.content) => item.content = known,
            _ => self.known.insert(key, &item.content),
        }
        self.last = Some((read, item.content.clone()));
    }

    /// Drops contents that no session holds.
    pub fn remove_unused(&mut self) {
        self.last = None;
        self.known.remove_unused();
    }
}

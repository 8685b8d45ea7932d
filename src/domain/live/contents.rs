//! What items show, kept once however many sessions remember it and however often it was read.

use std::sync::Arc;

use entity::ids::Seq;

use super::shared::Shared;
use crate::domain::inbox::Item;
use crate::domain::inbox::item::Content;

/// The contents that sessions remember, by the place of their notification in the log.
#[derive(Debug, Default)]
pub(super) struct Contents {
    known: Shared<Seq, Content>,
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
        match self.known.get(&item.seq) {
            Some(known) if known.is_same(&item.content) => item.content = known,
            _ => self.known.keep(item.seq, &item.content),
        }
        self.last = Some((read, item.content.clone()));
    }

    /// Forgets what nobody remembers any more.
    pub fn forget_old(&mut self) {
        self.last = None;
        self.known.forget_old();
    }
}

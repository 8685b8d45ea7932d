//! A session that follows its user's overview, and what that is known to be.
//!
//! A new item makes an overview another by one, so it is not read again for that: everything else that may change it is told
//! by a notice, after which it is read whole; and once a minute, should a node have ended between a commit and its notice.

use std::sync::Arc;

use entity::ids::Seq;

use super::alike::Alike;
use super::mailbox::Slot;
use crate::domain::inbox::Item;
use crate::domain::overview::{Overview, Wish};
use crate::domain::view::Unread;
use crate::error::Result;

/// A session that follows an overview.
#[derive(Debug)]
pub(super) struct OverviewSession {
    pub number: u64,
    pub wish: Wish,
    pub slot: Arc<Slot<Result<Arc<Overview>>>>,
    known: Option<Known>,
    /// What is known was shown.
    is_shown: bool,
}

#[derive(Debug)]
struct Known {
    overview: Arc<Overview>,
    /// Nothing is known to have changed since, but for what was added.
    is_certain: bool,
}

impl OverviewSession {
    pub fn new(number: u64, wish: Wish, slot: Arc<Slot<Result<Arc<Overview>>>>) -> Self {
        Self { number, wish, slot, known: None, is_shown: false }
    }

    /// The overview was read.
    pub fn read(&mut self, overview: Arc<Overview>) {
        let before = self.known.as_ref().map(|known| known.overview.fingerprint());
        self.is_shown &= before == Some(overview.fingerprint());
        self.known = Some(Known { overview, is_certain: true });
    }

    /// It may be another than is known.
    pub fn doubt(&mut self) {
        if let Some(known) = &mut self.known {
            known.is_certain = false;
        }
    }

    /// Up to where in the log it is known, if what is newer may be added to it.
    pub fn known_upto(&self) -> Option<Seq> {
        Some(self.known.as_ref().filter(|known| known.is_certain)?.overview.cursor)
    }

    /// Adds all items up to `end`, oldest first, of which those it holds already count once. False where it must be read.
    pub fn add(&mut self, items: &[Item], end: Seq, alike: &mut Alike) -> bool {
        let Some(known) = &mut self.known else { return false };
        let added = alike.add(&mut known.overview, items, end, &self.wish);
        self.is_shown &= !added.is_another;
        known.is_certain &= added.is_certain;
        known.is_certain
    }

    /// The views in it were read.
    pub fn see(&mut self, views: Unread) {
        let Some(known) = &mut self.known else { return };
        if known.overview.views != views {
            Arc::make_mut(&mut known.overview).views = views;
            self.is_shown = false;
        }
    }

    /// The views in it are others than it shows: unless it was taken already, it is not shown any more. Whether it was not.
    pub fn take_back(&mut self) -> bool {
        let is_taken_back = self.wish.views.is_some() && self.slot.take_back(|overview| overview.is_ok());
        self.is_shown &= !is_taken_back;
        is_taken_back
    }

    /// Shows what is known, if that is not what was shown last. Whether it is not.
    pub fn show(&mut self) -> bool {
        let Some(known) = self.known.as_ref().filter(|_| !self.is_shown) else { return false };
        self.slot.put(Ok(known.overview.clone()));
        self.is_shown = true;
        true
    }
}

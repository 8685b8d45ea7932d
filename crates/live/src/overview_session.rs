//! A session that follows its user's overview.
//!
//! A new item is added to the known overview in memory. Every other change is announced by a notice, after which the
//! overview is read again; so it is once a minute, in case a node died between a commit and its notice.

use std::sync::Arc;

use entity::ids::Seq;

use super::mailbox::LatestSlot;
use super::overview_interner::OverviewInterner;
use base::error::Result;
use domain::inbox::UserItem;
use domain::overview::{OverviewRequest, UserOverview};
use domain::view::UnreadViews;

/// A session that follows an overview.
#[derive(Debug)]
pub(super) struct OverviewSession {
    pub number: u64,
    pub wish: OverviewRequest,
    pub slot: Arc<LatestSlot<Result<Arc<UserOverview>>>>,
    known: Option<CurrentOverview>,
    /// Whether the known overview was sent.
    is_shown: bool,
}

#[derive(Debug)]
struct CurrentOverview {
    overview: Arc<UserOverview>,
    /// Whether nothing but the added items has changed since.
    is_certain: bool,
}

impl OverviewSession {
    pub fn new(number: u64, wish: OverviewRequest, slot: Arc<LatestSlot<Result<Arc<UserOverview>>>>) -> Self {
        Self { number, wish, slot, known: None, is_shown: false }
    }

    /// Stores an overview that was read.
    pub fn set_overview(&mut self, overview: Arc<UserOverview>) {
        let before = self.known.as_ref().map(|known| known.overview.fingerprint());
        self.is_shown &= before == Some(overview.fingerprint());
        self.known = Some(CurrentOverview { overview, is_certain: true });
    }

    /// Marks the overview as stale.
    pub fn mark_stale(&mut self) {
        if let Some(known) = &mut self.known {
            known.is_certain = false;
        }
    }

    /// The log position of the known overview. `None` if newer items cannot be added to it.
    pub fn overview_seq(&self) -> Option<Seq> {
        Some(self.known.as_ref().filter(|known| known.is_certain)?.overview.cursor)
    }

    /// Adds all items up to `end`, oldest first, skipping those already in it. Returns false if it must be read again.
    pub fn add_items(&mut self, items: &[UserItem], end: Seq, alike: &mut OverviewInterner) -> bool {
        let Some(known) = &mut self.known else { return false };
        let added = alike.add_items(&mut known.overview, items, end, &self.wish);
        self.is_shown &= !added.is_another;
        known.is_certain &= added.is_certain;
        known.is_certain
    }

    /// Stores the views of the overview, which were read.
    pub fn set_views(&mut self, views: UnreadViews) {
        let Some(known) = &mut self.known else { return };
        if known.overview.views != views {
            Arc::make_mut(&mut known.overview).views = views;
            self.is_shown = false;
        }
    }

    /// Removes an overview with old views that the client has not taken yet. Returns whether it removed one.
    pub fn withdraw_pending(&mut self) -> bool {
        let is_taken_back = self.wish.views.is_some() && self.slot.remove_if(|overview| overview.is_ok());
        self.is_shown &= !is_taken_back;
        is_taken_back
    }

    /// Sends the known overview if it was not sent yet. Returns whether it did.
    pub fn send_if_new(&mut self) -> bool {
        let Some(known) = self.known.as_ref().filter(|_| !self.is_shown) else { return false };
        self.slot.put(Ok(known.overview.clone()));
        self.is_shown = true;
        true
    }
}

//! Updates cached overviews after single items were marked.

use entity::ids::{Seq, TypeId};
use entity::inbox_item::ItemState;

use super::{BoundedCount, OverviewRequest, UserOverview};
use crate::catalogue::Catalogue;
use base::clock::Millis;

/// A marked item.
#[derive(Clone, Copy, Debug)]
pub struct AppliedMark {
    pub seq: Seq,
    pub kind: TypeId,
    pub from: ItemState,
    /// `None` if it was deleted.
    pub to: Option<ItemState>,
    /// 1 if it became read, -1 if it became unread, else 0.
    pub makes_read: i64,
    pub at: Millis,
}

impl UserOverview {
    /// Updates the overview after a mark. Returns `false` if the result is unknown, and the overview must not be used:
    /// the item moved into or out of the archive, or an affected count is not exact.
    ///
    /// The list of types may omit empty ones.
    pub(super) fn apply_mark(&mut self, mark: &AppliedMark, wish: &OverviewRequest, catalogue: &Catalogue) -> bool {
        let Some(to) = mark.to.filter(|to| to.is_archived() == mark.from.is_archived()) else { return false };
        let Some(kind) = catalogue.type_by_id(mark.kind) else { return false };
        let is_wished = wish.types.as_ref().is_none_or(|types| types.contains(&kind.code));
        if to.is_archived() || !is_wished {
            return true;
        }
        let Some(of) = self.types.iter_mut().find(|of| of.message_type.id == mark.kind) else { return false };
        let unread = of.unread.count - mark.makes_read;
        if !of.unread.is_exact || unread < 0 {
            return false;
        }
        of.unread = BoundedCount::with_cap(unread, wish.cap);
        if let Some(latest) = of.latest.as_mut().filter(|latest| latest.seq == mark.seq) {
            latest.state = to;
            latest.read_at = (to == ItemState::Read).then_some(mark.at);
        }
        self.unread = match self.types.iter().find(|of| !of.unread.is_exact) {
            Some(of) => of.unread,
            None => BoundedCount::with_cap(self.types.iter().map(|of| of.unread.count).sum(), wish.cap),
        };
        true
    }
}

//! Finds users who have an item that was amended, retracted or has expired.

use std::collections::BTreeSet;

use entity::ids::Seq;
use entity::inbox_item::{Column, Entity as InboxItem};
use entity::prelude::*;

use super::members::RoomMembers;
use base::error::Result;
use store::Store;

/// Log positions and users per statement.
const AT_ONCE: usize = 500;

/// Log positions of changed items. The affected users are not known yet.
#[derive(Debug, Default)]
pub(super) struct ChangedItems(BTreeSet<Seq>);

impl ChangedItems {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add_seqs(&mut self, seqs: &[Seq]) {
        self.0.extend(seqs);
    }

    /// Marks the overviews of connected users who have one of these items, by probes of `inbox_item`'s key. If a sync
    /// already removed the item from a user's inbox, it sent its own notice. Positions that fail stay pending.
    pub async fn mark_affected_users(&mut self, store: &Store, members: &mut RoomMembers) -> Result<()> {
        let seqs: Vec<Seq> = self.0.iter().copied().take(AT_ONCE).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        for users in members.users_with_overviews().chunks(AT_ONCE) {
            let having = InboxItem::find().filter(Column::UserId.is_in_list(&store.db.read, users));
            let having = having.filter(Column::Seq.is_in_list(&store.db.read, &seqs));
            let having = having.select_only().column(Column::UserId).distinct().into_tuple();
            having.all(&store.db.read).await?.into_iter().for_each(|user| members.mark_changed(user));
        }
        self.0.retain(|seq| !seqs.contains(seq));
        Ok(())
    }
}

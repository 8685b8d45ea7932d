//! Imported messages keep the state (read, archived) that they had in the other system.

use entity::inbox_item::{Column, ItemState};
use entity::prelude::*;

use super::Notification;
use super::draft::NotificationDraft;
use super::input::ImportedState;
use crate::counters;
use crate::counters::{ReadChange, ReaderInfo};
use crate::tenant::Tenant;
use base::error::Result;
use store::Transaction;

/// Gives items that this transaction has just inserted the state that they had in the other system.
pub(super) async fn store_imported_state(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&NotificationDraft],
    written: &[Notification],
) -> Result<()> {
    let (mut rows, mut read): (Vec<[Value; 6]>, Vec<_>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written).filter(|(_, of)| of.delivered_count > 0) {
        let (Some(past), Some(receiver), Some(seq)) = (&draft.past, draft.envelope.receiver(), of.seq) else {
            continue;
        };
        let Some(state) = item_state(past) else { continue };
        if past.read_at.is_some() {
            read.push(seq);
        }
        let kind = of.message_type.id;
        rows.push([
            receiver.into(),
            seq.into(),
            kind.into(),
            state.into(),
            past.read_at.into(),
            past.archived_at.into(),
        ]);
    }
    let columns = [Column::UserId, Column::Seq, Column::TypeId, Column::State, Column::ReadAt, Column::ArchivedAt];
    let merged = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[3..] };
    insert(txn, columns, rows, merged).await?;
    // They were read elsewhere, some time ago: no webhook is sent.
    let readings = read.into_iter().map(|seq| ReadChange { seq, by: 1, reader: ReaderInfo::default() });
    counters::record_changes(txn, tenant, readings).await
}

/// `None` if the receiver has neither read nor archived the message.
fn item_state(past: &ImportedState) -> Option<ItemState> {
    match (past.read_at, past.archived_at) {
        (None, None) => None,
        (Some(_), None) => Some(ItemState::Read),
        (Some(_), Some(_)) => Some(ItemState::ArchivedRead),
        (None, Some(_)) => Some(ItemState::ArchivedUnread),
    }
}

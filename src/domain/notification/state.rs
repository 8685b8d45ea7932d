//! Imported messages keep the state (read, archived) that they had in the other system.

use entity::inbox_item::{Column, State};
use entity::prelude::*;

use super::Notification;
use super::draft::Draft;
use super::input::Past;
use crate::database::Transaction;
use crate::domain::tally::{self, Reader, Reading};
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// Gives items that this transaction has just inserted the state that they had in the other system.
pub(super) async fn keep(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    written: &[Notification],
) -> Result<()> {
    let (mut rows, mut read): (Vec<[Value; 6]>, Vec<_>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written).filter(|(_, of)| of.delivered_count > 0) {
        let (Some(past), Some(receiver), Some(seq)) = (&draft.past, draft.envelope.receiver(), of.seq) else {
            continue;
        };
        let Some(state) = state(past) else { continue };
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
    let merged = Existing::Merged { key: &columns[..2], raised: &[], replaced: &columns[3..] };
    insert(txn, columns, rows, merged).await?;
    // They were read elsewhere, some time ago: no webhook is sent.
    let readings = read.into_iter().map(|seq| Reading { seq, by: 1, reader: Reader::default() });
    tally::marked(txn, tenant, readings).await
}

/// `None` if the receiver has neither read nor archived the message.
fn state(past: &Past) -> Option<State> {
    match (past.read_at, past.archived_at) {
        (None, None) => None,
        (Some(_), None) => Some(State::Read),
        (Some(_), Some(_)) => Some(State::ArchivedRead),
        (None, Some(_)) => Some(State::ArchivedUnread),
    }
}

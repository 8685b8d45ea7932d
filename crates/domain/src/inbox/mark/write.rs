//! Writes state changes of single items.

use std::collections::BTreeMap;

use entity::ids::{Seq, UserId};
use entity::prelude::LIST;

use super::queries;
use super::transitions::{ItemUpdate, StateTransition};
use crate::counters;
use crate::counters::{ReadChange, ReaderInfo};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::Transaction;

/// An item and the step that it takes.
#[derive(Clone, Copy)]
pub struct ItemTransition<'a> {
    pub user: UserId,
    pub seq: Seq,
    pub step: &'a StateTransition,
}

/// Writes the new states, with one statement per 1,000 items that change alike, and records reads and unreads in the
/// counters. The caller has locked the users' rows and flushed their counter spans.
pub async fn write_transitions(
    txn: &Transaction,
    tenant: &Tenant,
    moved: &[ItemTransition<'_>],
    now: Millis,
) -> Result<()> {
    let mut alike: BTreeMap<ItemUpdate, Vec<(UserId, Seq)>> = BTreeMap::new();
    for item in moved {
        alike.entry(item.step.item_update()).or_default().push((item.user, item.seq));
    }
    for (put, items) in &alike {
        for items in items.chunks(LIST) {
            queries::write_items(txn, tenant, items, *put, now).execute(txn).await?;
        }
    }
    if queries::can_count_in_update(txn) {
        return Ok(());
    }
    let reading = |item: &ItemTransition<'_>| match item.step.read_delta() {
        0 => None,
        by => Some(ReadChange { seq: item.seq, by, reader: ReaderInfo { user: item.user, at: now } }),
    };
    counters::record_changes(txn, tenant, moved.iter().filter_map(reading)).await
}

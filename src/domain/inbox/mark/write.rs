//! Writes state changes of single items.

use std::collections::BTreeMap;

use entity::ids::{Seq, UserId};
use entity::prelude::LIST;

use super::statement;
use super::step::{Put, Step};
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tally::{self, Reader, Reading};
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// An item and the step that it takes.
#[derive(Clone, Copy)]
pub struct Moved<'a> {
    pub user: UserId,
    pub seq: Seq,
    pub step: &'a Step,
}

/// Writes the new states, with one statement per 1,000 items that change alike, and records reads and unreads in the
/// counters. The caller has locked the users' rows and flushed their counter spans.
pub async fn write(txn: &Transaction, tenant: &Tenant, moved: &[Moved<'_>], now: Millis) -> Result<()> {
    let mut alike: BTreeMap<Put, Vec<(UserId, Seq)>> = BTreeMap::new();
    for item in moved {
        alike.entry(item.step.put()).or_default().push((item.user, item.seq));
    }
    for (put, items) in &alike {
        for items in items.chunks(LIST) {
            statement::put(txn, tenant, items, *put, now).run(txn).await?;
        }
    }
    if statement::put_tells(txn) {
        return Ok(());
    }
    let reading = |item: &Moved<'_>| match item.step.makes_read() {
        0 => None,
        by => Some(Reading { seq: item.seq, by, reader: Reader { user: item.user, at: now } }),
    };
    tally::marked(txn, tenant, moved.iter().filter_map(reading)).await
}

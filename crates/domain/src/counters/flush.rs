//! Turns spans into tallies, item by item.

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use entity::tally_span::{Column, Entity as TallySpan};

use super::queries::{CounterSpan, insert_item_tallies, select_spans};
use crate::tenant::Tenant;
use base::error::Result;
use store::Transaction;

/// The most spans per statement.
const SPANS: usize = 64;

/// Counts the spans of users item by item, and deletes them.
pub async fn flush_users(txn: &Transaction, users: &[UserId]) -> Result<()> {
    let spans = select_spans(txn, users).fetch_by_name::<CounterSpan>(txn).await?;
    if spans.is_empty() {
        return Ok(());
    }
    insert_all_tallies(txn, spans).await?;
    TallySpan::delete_many().filter(Column::UserId.is_in_list(txn, users)).exec(txn).await?;
    Ok(())
}

/// Counts an erased user's items up to `upto`, before these are deleted. The spans stay for the remaining items.
pub async fn flush_up_to(txn: &Transaction, tenant: &Tenant, user: UserId, upto: Seq) -> Result<()> {
    let mut spans = TallySpan::of_user(user).filter(Column::AfterSeq.lt(upto)).all(txn).await?;
    for span in &mut spans {
        span.upto_seq = span.upto_seq.min(upto);
    }
    insert_all_tallies(
        txn,
        spans.into_iter().map(|part| CounterSpan { tenant_id: tenant.id, is_told: 0, part }).collect(),
    )
    .await
}

async fn insert_all_tallies(txn: &Transaction, spans: Vec<CounterSpan>) -> Result<()> {
    let (read, arrived): (Vec<CounterSpan>, Vec<CounterSpan>) = spans.into_iter().partition(|span| span.part.is_read);
    for mut spans in [arrived.as_slice(), read.as_slice()] {
        while !spans.is_empty() {
            // A power of two, so that there are few different statements.
            let (some, rest) = spans.split_at(1 << spans.len().min(SPANS).ilog2());
            insert_item_tallies(txn, some).execute(txn).await?;
            spans = rest;
        }
    }
    Ok(())
}

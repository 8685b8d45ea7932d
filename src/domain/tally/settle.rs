//! Turns spans into tallies, item by item.

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use entity::tally_span::{Column, Entity as TallySpan};

use super::statement::{Span, settled, spans};
use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// The most spans per statement.
const SPANS: usize = 64;

/// Counts the spans of users item by item, and deletes them.
pub async fn settle(txn: &Transaction, users: &[UserId]) -> Result<()> {
    let spans = spans(txn, users).rows::<Span>(txn).await?;
    if spans.is_empty() {
        return Ok(());
    }
    add_all(txn, spans).await?;
    TallySpan::delete_many().filter(Column::UserId.among(txn, users)).exec(txn).await?;
    Ok(())
}

/// Counts an erased user's items up to `upto`, before these are deleted. The spans stay for the remaining items.
pub async fn settle_up_to(txn: &Transaction, tenant: &Tenant, user: UserId, upto: Seq) -> Result<()> {
    let mut spans = TallySpan::of_user(user).filter(Column::AfterSeq.lt(upto)).all(txn).await?;
    for span in &mut spans {
        span.upto_seq = span.upto_seq.min(upto);
    }
    add_all(txn, spans.into_iter().map(|part| Span { tenant_id: tenant.id, is_told: 0, part }).collect()).await
}

async fn add_all(txn: &Transaction, spans: Vec<Span>) -> Result<()> {
    let (read, arrived): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(|span| span.part.is_read);
    for mut spans in [arrived.as_slice(), read.as_slice()] {
        while !spans.is_empty() {
            // A power of two, so that there are few different statements.
            let (some, rest) = spans.split_at(1 << spans.len().min(SPANS).ilog2());
            settled(txn, some).run(txn).await?;
            spans = rest;
        }
    }
    Ok(())
}

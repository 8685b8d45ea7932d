//! Records which addresses work, by the results of deliveries.

use entity::contact::{Column, Entity as Contacts};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use crate::destination::{AttemptOutcome, Delivery, FailureScope};
use base::clock::Millis;
use base::error::Result;
use domain::user;
use store::Transaction;

/// After this many consecutive refusals an address gets no more deliveries.
const REFUSALS: i64 = 3;

/// Resets the failures of addresses that accepted a delivery, and counts the refusals of others.
pub async fn record_results(txn: &Transaction, all: &[(&Delivery, &AttemptOutcome)], now: Millis) -> Result<()> {
    let taken = all.iter().filter(|(_, outcome)| outcome.error.is_none()).map(|(delivery, _)| delivery.contact_id);
    user::clear_contact_failures(txn, &taken.collect::<Vec<_>>()).await?;
    for (delivery, _) in all.iter().filter(|(_, outcome)| outcome.blame == FailureScope::Contact) {
        let refused = || Contacts::update_many().filter(Column::Id.eq(delivery.contact_id));
        refused().col_expr(Column::Failures, Expr::col(Column::Failures).add(1)).exec(txn).await?;
        let bad = refused().filter(Column::Failures.gte(REFUSALS)).filter(Column::BadSince.is_null());
        bad.col_expr(Column::BadSince, Expr::val(now)).exec(txn).await?;
    }
    Ok(())
}

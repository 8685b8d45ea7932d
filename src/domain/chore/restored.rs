//! After a restore: what clients know of what was lost must not come to mean something else.
//!
//! The log of a restored database ends where it ended when the backup was made, and would grow again over places that clients know as
//! cursors and ids. So each log, and all generated ids, go on further than any that may have been given out.

use entity::prelude::*;
use entity::tenant::{Column, Entity as Head};
use futures_util::future::BoxFuture;
use sea_orm::sea_query::ExprTrait;

use crate::app::App;
use crate::database::{raise_generated, transaction};
use crate::domain::tally;
use crate::error::Result;

/// Lets all tenants go on `by` numbers further, and returns how many they are. Nobody may serve the database meanwhile.
pub fn restored(app: &App, by: i64) -> BoxFuture<'_, Result<u64>> {
    Box::pin(raised(app, by))
}

async fn raised(app: &App, by: i64) -> Result<u64> {
    // Counting would go through the gap step by step.
    tally::count(app).await?;
    transaction!(app.db, |txn| {
        raise_generated(txn, by).await?;
        let further = |column: Column| Expr::col(column).add(by);
        let raise = Head::update_many()
            .col_expr(Column::CountedSeq, further(Column::LastSeq))
            .col_expr(Column::LastSeq, further(Column::LastSeq))
            .col_expr(Column::LastNotificationId, further(Column::LastNotificationId));
        Ok(raise.exec(txn).await?.rows_affected)
    })
}

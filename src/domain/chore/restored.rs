//! Raises all numbers after a restore with all nodes stopped, so that lost ids and cursors never get a new meaning.

use futures_util::future::BoxFuture;

use super::raise::{LineageRecord, advance_logs, load_lineage, save_lineage};
use crate::app::App;
use crate::database::{raise_generated, transaction};
use crate::error::Result;

/// Raises all tenants' numbers by `by` and returns the number of tenants. No node may serve the database meanwhile.
pub fn advance_numbers(app: &App, by: i64) -> BoxFuture<'_, Result<u64>> {
    Box::pin(advance_numbers_inner(app, by))
}

async fn advance_numbers_inner(app: &App, by: i64) -> Result<u64> {
    transaction!(app.db, |txn| raise_generated(txn, by).await)?;
    let lineage = app.db.query_lineage().await?;
    transaction!(app.db, |txn| {
        let tenants = advance_logs(txn, by, app.now()).await?;
        if let Some(lineage) = &lineage {
            // Spares the nodes that start next from raising them again.
            let number = load_lineage(txn).await?.map_or(0, |of| of.number) + 1;
            save_lineage(txn, &LineageRecord { number, name: (*lineage.name).to_owned() }).await?;
        }
        Ok(tenants)
    })
}

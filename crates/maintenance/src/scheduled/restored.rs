//! Raises all numbers after a restore with all nodes stopped, so that lost ids and cursors never get a new meaning.

use futures_util::future::BoxFuture;

use super::advance_ids::{LineageRecord, advance_logs, load_lineage, save_lineage};
use base::error::Result;
use store::{Store, raise_generated, transaction};

/// Raises all tenants' numbers by `by` and returns the number of tenants. No node may serve the database meanwhile.
pub fn advance_numbers(store: &Store, by: i64) -> BoxFuture<'_, Result<u64>> {
    Box::pin(advance_numbers_inner(store, by))
}

async fn advance_numbers_inner(store: &Store, by: i64) -> Result<u64> {
    transaction!(store.db, |txn| raise_generated(txn, by).await)?;
    let lineage = store.db.query_lineage().await?;
    transaction!(store.db, |txn| {
        let tenants = advance_logs(txn, by, store.now()).await?;
        if let Some(lineage) = &lineage {
            // Spares the nodes that start next from raising them again.
            let number = load_lineage(txn).await?.map_or(0, |of| of.number) + 1;
            save_lineage(txn, &LineageRecord { number, name: (*lineage.name).to_owned() }).await?;
        }
        Ok(tenants)
    })
}

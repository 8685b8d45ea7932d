//! After a restore with all nodes stopped: what clients know of what was lost must not come to mean something else.

use futures_util::future::BoxFuture;

use super::raise::{Standing, raise_logs, stand, standing};
use crate::app::App;
use crate::database::{raise_generated, transaction};
use crate::error::Result;

/// Lets all tenants go on `by` numbers further, and returns how many they are. Nobody may serve the database meanwhile.
pub fn restored(app: &App, by: i64) -> BoxFuture<'_, Result<u64>> {
    Box::pin(raised(app, by))
}

async fn raised(app: &App, by: i64) -> Result<u64> {
    transaction!(app.db, |txn| raise_generated(txn, by).await)?;
    let lineage = app.db.lineage().await?;
    transaction!(app.db, |txn| {
        let tenants = raise_logs(txn, by, app.now()).await?;
        if let Some(lineage) = &lineage {
            // The nodes that start next need not do it again.
            let number = standing(txn).await?.map_or(0, |of| of.number) + 1;
            stand(txn, &Standing { number, name: (*lineage.name).to_owned() }).await?;
        }
        Ok(tenants)
    })
}

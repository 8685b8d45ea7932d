//! Prepares a node for a database that is a different one than before, or has a different history.

use std::time::Duration;

use entity::gap::{self, Column};
use entity::prelude::*;
use futures_util::future::BoxFuture;
use tokio::time::sleep;

use super::advance_ids::{LineageRecord, advance_logs, load_lineage, save_lineage};
use base::error::{DatabaseFailure, Error, Result};
use live::LiveRooms;
use model::log_gaps::LogGaps;
use store::{DatabaseLineage, Store, Transaction, bypass_fence, raise_generated, transaction};

/// How far numbers are raised: more than all tenants together can have used in the lost part of the history.
const BY: i64 = 10_000_000;

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Opens the fence again each time it closes.
pub async fn keep_open(store: &Store, live: &LiveRooms) {
    loop {
        store.db.fence.wait_until_closed().await;
        let mut was_told = false;
        while let Err(error) = reconcile_lineage(store, live).await {
            if !std::mem::replace(&mut was_told, true) {
                tracing::warn!(cause = error.log_message(), "the database cannot be used yet");
            }
            sleep(PAUSE).await;
        }
    }
}

/// Compares the lineage of the connections with the lineage that the numbers belong to. If they differ, clears the
/// caches and raises the numbers, unless another node has done that. Then the pool lends connections again.
///
/// Fails with `Unavailable` if the database accepts no writes.
pub fn reconcile_lineage<'a>(store: &'a Store, live: &'a LiveRooms) -> BoxFuture<'a, Result<()>> {
    Box::pin(bypass_fence(reconcile_lineage_inner(store, live)))
}

async fn reconcile_lineage_inner(store: &Store, live: &LiveRooms) -> Result<()> {
    let fence = &store.db.fence;
    let Some(lineage) = store.db.query_lineage().await? else { return Ok(()) };
    let (known, number) = fence.current_lineage();
    if known.as_ref().is_some_and(|known| known.name == lineage.name) {
        // The connections led to another database only for a moment.
        return open_fence(store, &lineage, number).await;
    }
    if lineage.is_read_only {
        return Err(DatabaseFailure::ReadOnly.to_error().into());
    }
    if known.is_some() {
        if lineage.is_unfinished() {
            return Err(Error::Unavailable("the database is being restored".into()));
        }
        discard_state(store, live);
    }
    let number = advance_numbers(store, &lineage, (known.is_some(), number)).await?;
    *store.gaps.write() = load_gaps(store).await?;
    if known.is_some() {
        // Clears it again: earlier requests may have filled the caches meanwhile.
        discard_state(store, live);
    }
    open_fence(store, &lineage, number).await
}

async fn open_fence(store: &Store, lineage: &DatabaseLineage, number: u64) -> Result<()> {
    if !store.db.fence.open(lineage, number) {
        return Err(Error::Unavailable("the connections lead to another database again".into()));
    }
    store.db.close_stale().await;
    Ok(())
}

/// Clears everything that may now be wrong. Sessions end, and reconnect with their cursors.
fn discard_state(store: &Store, live: &LiveRooms) {
    store.db.fence.begin_era();
    store.caches.clear();
    if let Some(invalidation) = &store.invalidation {
        invalidation.forget_epoch();
    }
    live.end_sessions();
}

/// Raises all numbers, unless that was already done. Returns how often they have been raised. Nodes take turns.
///
/// Without a lineage row, no node has seen this database before. Only a node that knew another one can detect a change.
async fn advance_numbers(store: &Store, lineage: &DatabaseLineage, (knew_another, number): (bool, u64)) -> Result<u64> {
    // If this database missed the last raise, it may have given out numbers since that no other database knows.
    let is_done = |of: &LineageRecord| of.name == *lineage.name && of.number >= number;
    let further = |of: &LineageRecord| {
        let number = of.number.max(number) + 1;
        let times = i64::try_from(number - of.number).unwrap_or(1);
        (number, times * BY)
    };
    let generated = transaction!(store.db, |txn| {
        match lineage_or_empty(txn, knew_another).await? {
            Some(of) if !is_done(&of) => raise_generated(txn, further(&of).1).await,
            _ => Ok(()),
        }
    });
    match generated {
        // The database user lacks the privilege. The operator must know, but the server can still serve requests.
        Err(Error::Internal(cause)) => {
            let cause = Error::Internal(cause).log_message();
            let hint = "this database user may not raise generated ids: run `tidings restored` as a user who may";
            tracing::error!(cause, "{hint}");
        }
        other => other?,
    }
    let (number, tenants) = transaction!(store.db, |txn| {
        let (number, tenants) = match lineage_or_empty(txn, knew_another).await? {
            Some(of) if is_done(&of) => return Ok((of.number, None)),
            Some(of) => {
                let (number, by) = further(&of);
                (number, Some(advance_logs(txn, by, store.now()).await?))
            }
            None => (number, None),
        };
        save_lineage(txn, &LineageRecord { number, name: (*lineage.name).to_owned() }).await?;
        Ok((number, tenants))
    })?;
    if let Some(tenants) = tenants {
        tracing::warn!(
            tenants,
            number,
            lineage = &*lineage.name,
            "raised all ids and log positions, so that lost ones are not used again"
        );
    }
    Ok(number)
}

/// The lineage row. If it is missing and this node knew another database, returns an empty lineage.
async fn lineage_or_empty(txn: &Transaction, knew_another: bool) -> Result<Option<LineageRecord>> {
    let stood = load_lineage(txn).await?;
    Ok(stood.or_else(|| knew_another.then(|| LineageRecord { number: 0, name: String::new() })))
}

/// The gaps in the logs of all tenants.
async fn load_gaps(store: &Store) -> Result<LogGaps> {
    let mut gaps = LogGaps::default();
    let all = gap::Entity::find().order_by_asc(Column::UptoSeq).all(&store.db.read).await?;
    for gap::Model { tenant_id, after_seq, upto_seq, .. } in all {
        gaps.add(tenant_id, after_seq, upto_seq);
    }
    Ok(gaps)
}

//! Maintains the epoch of the Redis invalidation. A node without Redis keeps the others from trusting theirs.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::Database;
use base::error::Result;
use cluster::invalidation::{Epoch, EpochTimings, InvalidationStore};

/// Maintains the epoch until it is dropped.
#[derive(Debug)]
pub struct EpochTask(AbortHandle);

impl Drop for EpochTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl EpochTask {
    /// Starts a new epoch, because this node may have crashed between a commit and its invalidation. Returns when no
    /// node trusts the previous epoch any more.
    pub async fn start(invalidation: Arc<InvalidationStore>, db: Database) -> Result<Self> {
        let run = invalidation.reachable_run().await;
        start_epoch(&invalidation, &db, run).await?;
        sleep(invalidation.pace.trust).await;
        let keeping = tokio::spawn(async move {
            let mut mended = 0;
            let mut was_away = false;
            loop {
                invalidation.wait_until_due().await;
                let looked = check_epoch(&invalidation, &db, &mut mended).await;
                if let Err(error) = &looked
                    && !was_away
                {
                    tracing::warn!(cause = error.log_message(), "could not check the invalidation epoch");
                }
                was_away = looked.is_err();
            }
        });
        Ok(Self(keeping.abort_handle()))
    }

    /// For a node without Redis: its commits invalidate nothing, so no node may trust Redis while this one runs.
    pub async fn start_without_redis(db: Database, pace: EpochTimings) -> Result<Self> {
        if close_epoch(&db).await? {
            sleep(pace.trust).await;
        }
        let keeping = tokio::spawn(async move {
            loop {
                sleep(pace.trust).await;
                match close_epoch(&db).await {
                    Ok(true) => tracing::warn!(
                        "TIDINGS_BOARD is set on other nodes but not on this one: no node uses Redis to check cached overviews"
                    ),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(cause = error.log_message(), "could not read the invalidation epoch"),
                }
            }
        });
        Ok(Self(keeping.abort_handle()))
    }
}

/// Reads the epoch. Starts a new one if an invalidation failed, or if the epoch belongs to another Redis than the one
/// this node reaches.
async fn check_epoch(invalidation: &InvalidationStore, db: &Database, mended: &mut u64) -> Result<()> {
    let failures = invalidation.failure_count();
    if failures > *mended {
        // At once, because a commit waits for it. The run of Redis is read below.
        start_epoch(invalidation, db, None).await?;
        *mended = failures;
    } else {
        let began = Instant::now();
        if let Some(text) = db.read_epoch().await? {
            invalidation.observe_epoch(Epoch::parse(&text), (began, Instant::now()));
        }
    }
    let run = invalidation.reachable_run().await;
    if run != invalidation.epoch_run() {
        start_epoch(invalidation, db, run).await?;
    }
    Ok(())
}

async fn start_epoch(invalidation: &InvalidationStore, db: &Database, run: Option<Arc<str>>) -> Result<()> {
    let epoch = Epoch::generate(run)?;
    let began = Instant::now();
    db.write_epoch(&epoch.to_string()).await?;
    tracing::info!(epoch = %epoch, "started a new invalidation epoch");
    invalidation.observe_started_epoch(epoch, (began, Instant::now()));
    Ok(())
}

/// Closes the epoch. Returns whether it was open.
async fn close_epoch(db: &Database) -> Result<bool> {
    let is_open = db.read_epoch().await?.is_some_and(|text| Epoch::parse(&text).run.is_some());
    if is_open {
        db.write_epoch(&Epoch::generate(None)?.to_string()).await?;
    }
    Ok(is_open)
}

//! Maintains the epoch of the Redis invalidation. A node without Redis keeps the others from trusting theirs.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::board::{Board, Epoch, Pace};
use crate::database::Database;
use crate::error::Result;

/// Maintains the epoch until it is dropped.
#[derive(Debug)]
pub struct Keeper(AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Keeper {
    /// Starts a new epoch, because this node may have crashed between a commit and its invalidation. Returns when no
    /// node trusts the previous epoch any more.
    pub async fn start(board: Arc<Board>, db: Database) -> Result<Self> {
        let run = board.reached().await;
        raise(&board, &db, run).await?;
        sleep(board.pace.trust).await;
        let keeping = tokio::spawn(async move {
            let mut mended = 0;
            let mut was_away = false;
            loop {
                board.due().await;
                let looked = look(&board, &db, &mut mended).await;
                if let Err(error) = &looked
                    && !was_away
                {
                    tracing::warn!(cause = error.told(), "could not check the invalidation epoch");
                }
                was_away = looked.is_err();
            }
        });
        Ok(Self(keeping.abort_handle()))
    }

    /// For a node without Redis: its commits invalidate nothing, so no node may trust Redis while this one runs.
    pub async fn start_without(db: Database, pace: Pace) -> Result<Self> {
        if close(&db).await? {
            sleep(pace.trust).await;
        }
        let keeping = tokio::spawn(async move {
            loop {
                sleep(pace.trust).await;
                match close(&db).await {
                    Ok(true) => tracing::warn!(
                        "TIDINGS_BOARD is set on other nodes but not on this one: no node uses Redis to check cached overviews"
                    ),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(cause = error.told(), "could not read the invalidation epoch"),
                }
            }
        });
        Ok(Self(keeping.abort_handle()))
    }
}

/// Reads the epoch. Starts a new one if an invalidation failed, or if the epoch belongs to another Redis than the one
/// this node reaches.
async fn look(board: &Board, db: &Database, mended: &mut u64) -> Result<()> {
    let failures = board.failures();
    if failures > *mended {
        // At once, because a commit waits for it. The run of Redis is read below.
        raise(board, db, None).await?;
        *mended = failures;
    } else {
        let began = Instant::now();
        if let Some(text) = db.board().await? {
            board.note(Epoch::read(&text), (began, Instant::now()));
        }
    }
    let run = board.reached().await;
    if run != board.run() {
        raise(board, db, run).await?;
    }
    Ok(())
}

async fn raise(board: &Board, db: &Database, run: Option<Arc<str>>) -> Result<()> {
    let epoch = Epoch::fresh(run)?;
    let began = Instant::now();
    db.write_board(&epoch.to_string()).await?;
    tracing::info!(epoch = %epoch, "started a new invalidation epoch");
    board.raised(epoch, (began, Instant::now()));
    Ok(())
}

/// Closes the epoch. Returns whether it was open.
async fn close(db: &Database) -> Result<bool> {
    let is_open = db.board().await?.is_some_and(|text| Epoch::read(&text).run.is_some());
    if is_open {
        db.write_board(&Epoch::fresh(None)?.to_string()).await?;
    }
    Ok(is_open)
}

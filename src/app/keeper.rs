//! Keeps the board, by the epoch that the nodes agree on in the database. A node without a board keeps the others from believing theirs.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::board::{Board, Epoch, Pace};
use crate::database::Database;
use crate::error::Result;

/// Keeps the board until it is dropped.
#[derive(Debug)]
pub struct Keeper(AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Keeper {
    /// Begins with a new epoch: this node may have ended before, between a commit and what it had to take down. Returns once nobody
    /// believes the one before.
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
                    tracing::warn!(cause = error.told(), "the epoch of the board cannot be looked at");
                }
                was_away = looked.is_err();
            }
        });
        Ok(Self(keeping.abort_handle()))
    }

    /// Where other nodes may have a board, they cannot know what this one commits: so theirs is of no use while it runs.
    pub async fn start_without(db: Database, pace: Pace) -> Result<Self> {
        if close(&db).await? {
            sleep(pace.trust).await;
        }
        let keeping = tokio::spawn(async move {
            loop {
                sleep(pace.trust).await;
                match close(&db).await {
                    Ok(true) => tracing::warn!("other nodes have a board, and this one has not: nobody believes it"),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(cause = error.told(), "nobody can say whether there is a board"),
                }
            }
        });
        Ok(Self(keeping.abort_handle()))
    }
}

/// Looks at the epoch, and raises it where something could not be taken down, or where it is of another Redis than the one that this
/// node reaches.
async fn look(board: &Board, db: &Database, mended: &mut u64) -> Result<()> {
    let failures = board.failures();
    if failures > *mended {
        // At once, for somebody waits for it: where Redis is now is found out below.
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
    tracing::info!(epoch = %epoch, "the board begins anew");
    board.raised(epoch, (began, Instant::now()));
    Ok(())
}

/// Whether there was an epoch of a board, which there is not any more.
async fn close(db: &Database) -> Result<bool> {
    let is_open = db.board().await?.is_some_and(|text| Epoch::read(&text).run.is_some());
    if is_open {
        db.write_board(&Epoch::fresh(None)?.to_string()).await?;
    }
    Ok(is_open)
}

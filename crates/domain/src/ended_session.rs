//! Desk sessions that ended by sign-out. Each node verifies session cookies by itself, so an early end is stored here
//! until the cookie would have expired anyway.
//!
//! Each request with such a cookie looks up the key of `ended_session`. Only operators and services have these cookies,
//! so no node caches the answer: every node refuses an ended session at once.

use entity::ended_session::{Column, Entity as EndedSession};
use entity::prelude::*;

use base::clock::Millis;
use base::error::Result;
use store::{Store, transaction};

/// Ends a session on all nodes, whose cookie would expire at `expires_at`. Idempotent.
pub async fn end(store: &Store, id: &str, expires_at: Millis) -> Result<()> {
    transaction!(store.db, |txn| {
        let row = [id.into(), expires_at.into()];
        insert(txn, [Column::Id, Column::ExpiresAt], vec![row], ExistingRows::Kept).await?;
        Ok(())
    })
}

/// Whether a session was ended.
pub async fn has_ended(store: &Store, id: &str) -> Result<bool> {
    Ok(EndedSession::find_by_id(id).count_rows(&store.db.read).await? > 0)
}

/// Deletes the sessions that have expired anyway. A range of `ended_session_expires_at`.
pub async fn sweep(store: &Store, before: i64) -> Result<()> {
    transaction!(store.db, |txn| {
        EndedSession::delete_many().filter(Column::ExpiresAt.lt(before)).exec(txn).await?;
        Ok(())
    })
}

//! Desk sessions that ended by sign-out. Each node verifies session cookies by itself, so an early end is stored here
//! until the cookie would have expired anyway.
//!
//! Each request with such a cookie looks up the key of `ended_session`. Only operators and services have these cookies,
//! so no node caches the answer: every node refuses an ended session at once.

use entity::ended_session::{Column, Entity as EndedSession};
use entity::prelude::*;

use crate::app::App;
use crate::auth::SignInSession;
use crate::database::transaction;
use crate::error::Result;

/// Ends a session on all nodes. Idempotent.
pub async fn end(app: &App, session: &SignInSession) -> Result<()> {
    let expires_at = session.claims.exp.saturating_mul(1000);
    transaction!(app.db, |txn| {
        let row = [session.id.clone().into(), expires_at.into()];
        insert(txn, [Column::Id, Column::ExpiresAt], vec![row], ExistingRows::Kept).await?;
        Ok(())
    })
}

/// Whether a session was ended.
pub async fn has_ended(app: &App, id: &str) -> Result<bool> {
    Ok(EndedSession::find_by_id(id).count_rows(&app.db.read).await? > 0)
}

/// Deletes the sessions that have expired anyway. A range of `ended_session_expires_at`.
pub async fn sweep(app: &App, before: i64) -> Result<()> {
    transaction!(app.db, |txn| {
        EndedSession::delete_many().filter(Column::ExpiresAt.lt(before)).exec(txn).await?;
        Ok(())
    })
}

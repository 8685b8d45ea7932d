//! Revalidates cached data of inboxes. Concurrent requests share a statement.

mod board;
mod drift;
mod known;
mod statement;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use crate::app::App;
use crate::database::{Bounds, Party, Together};
use crate::domain::inbox::standing::Reach;
use crate::domain::tenant::{Needs, Tenant};
use crate::error::Result;
use crate::model::overview::{Entry, Overview, Wish};
use crate::model::proof::Proof;
use known::{Held, Known, PROOFS};

pub use drift::{Stood, doubtful, still_standing};

/// The batcher for revalidation requests of a tenant's users.
type Questions = Together<Needs, Arc<Proof>, Held>;

/// Returns the cached overviews that are still valid. Takes one statement if any are cached, or two if the log has
/// grown, which later revalidations then know.
pub(super) async fn recall(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    for user in users {
        entries.extend(app.caches.overviews.recall(*user, wish));
    }
    let proofs: Vec<Arc<Proof>> = entries.iter().map(|entry| entry.proof.clone()).collect();
    let held = hold(app, tenant, proofs).await?;
    let shown = |(entry, cursor): (Arc<Entry>, Option<Seq>)| Some((entry.overview.user, entry.shown(cursor?)));
    Ok(entries.into_iter().zip(held).filter_map(shown).collect())
}

/// For each validator, the log position its data is valid for, or `None`. Checks Redis first, then the database.
pub(super) async fn hold(app: &Arc<App>, tenant: &Arc<Tenant>, proofs: Vec<Arc<Proof>>) -> Result<Held> {
    let mut held = board::held(app, tenant, &proofs).await;
    let places: Vec<usize> = (0..held.len()).filter(|place| held[*place].is_none()).collect();
    if places.is_empty() {
        return Ok(held);
    }
    let questions = tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, PROOFS);
        Questions::new(Party::tenant(tenant.id), |(app, tenant), jobs| answer(app, tenant, jobs).boxed(), bounds)
    });
    let asked = places.iter().map(|place| proofs[*place].clone()).collect();
    let cursors = questions.ask(|| (app.clone(), tenant.clone()), asked).await?;
    for (place, cursor) in places.into_iter().zip(cursors) {
        held[place] = cursor;
    }
    Ok(held)
}

async fn answer(app: &App, tenant: &Tenant, jobs: &mut [Vec<Arc<Proof>>]) -> Result<Vec<Result<Held>>> {
    let now = app.now();
    let hung = board::hang(app, tenant, jobs.iter().flatten(), now).await?;
    let end = tenant.end();
    let (quiet, mut moved): (Vec<_>, Vec<_>) = jobs.iter().flatten().partition(|proof| end <= proof.complete_upto());
    let mut known = Known::default();
    if !quiet.is_empty() {
        // As far as this process knows, the log has not grown since. If that is true, no inbox is behind.
        known.ask(app, tenant, &quiet, Reach::KnownEnd, now).await?;
        // Uses the end that these statements saw, even if other tasks have reset the tenant's end meanwhile.
        let end = tenant.end().max(known.end());
        moved.extend(quiet.into_iter().filter(|proof| proof.complete_upto() < end));
    }
    if !moved.is_empty() {
        known.ask(app, tenant, &moved, Reach::End, now).await?;
    }
    let held = |proof: &Arc<Proof>| {
        let cursor = known.of(tenant, proof, now)?;
        if let Some(hung) = &hung {
            hung.keep(tenant, proof, known.expires_at);
        }
        Some(cursor)
    };
    Ok(jobs.iter().map(|job| Ok(job.iter().map(held).collect())).collect())
}

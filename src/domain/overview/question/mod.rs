//! Whether overviews that are remembered still hold. Requests that ask at the same time ask together.

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
use known::{ENTRIES, Known};

pub use drift::{Stood, doubtful, still_standing};

/// Requests of a tenant's users that wait to hear which of the overviews that are remembered still hold.
type Questions = Together<Needs, Arc<Entry>, HashMap<UserId, Seq>>;

/// Overviews that are remembered and still hold. One statement where any are remembered; two where the log turns out to
/// have gone on, which every later question then knows.
pub(super) async fn recall(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    let mut entries = Vec::new();
    for user in users {
        entries.extend(app.caches.overviews.recall(*user, wish).await);
    }
    if entries.is_empty() {
        return Ok(HashMap::new());
    }
    let held = hold(app, tenant, entries.clone()).await?;
    let shown = |entry: &Arc<Entry>| Some((entry.overview.user, entry.shown(*held.get(&entry.overview.user)?)));
    Ok(entries.iter().filter_map(shown).collect())
}

/// As of which places in the log those of these still hold that do: by the board, where there is one, and else by the database.
pub(super) async fn hold(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    entries: Vec<Arc<Entry>>,
) -> Result<HashMap<UserId, Seq>> {
    let (mut held, entries) = board::held(app, tenant, entries).await;
    if entries.is_empty() {
        return Ok(held);
    }
    let questions = tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, ENTRIES);
        Questions::new(Party::tenant(tenant.id), |(app, tenant), jobs| answer(app, tenant, jobs).boxed(), bounds)
    });
    held.extend(questions.ask(|| (app.clone(), tenant.clone()), entries).await?);
    Ok(held)
}

async fn answer(app: &App, tenant: &Tenant, jobs: &mut [Vec<Arc<Entry>>]) -> Result<Vec<Result<HashMap<UserId, Seq>>>> {
    let now = app.now();
    let hung = board::hang(app, tenant, jobs.iter().flatten(), now).await?;
    let end = tenant.end();
    let (quiet, mut moved): (Vec<_>, Vec<_>) = jobs.iter().flatten().partition(|entry| end <= entry.complete_upto());
    let mut known = Known::default();
    if !quiet.is_empty() {
        // Nothing has happened since, as far as this process has seen. Where that is so, nobody can be behind.
        known.ask(app, tenant, &quiet, Reach::KnownEnd, now).await?;
        // What these statements saw counts, whatever others make of the end meanwhile.
        let end = tenant.end().max(known.end());
        moved.extend(quiet.into_iter().filter(|entry| entry.complete_upto() < end));
    }
    if !moved.is_empty() {
        known.ask(app, tenant, &moved, Reach::End, now).await?;
    }
    let held = |entry: &Arc<Entry>| {
        let cursor = known.of(tenant, entry, now)?;
        if let Some(hung) = &hung {
            hung.keep(tenant, entry, known.expires_at);
        }
        Some((entry.overview.user, cursor))
    };
    Ok(jobs.iter().map(|job| Ok(job.iter().filter_map(held).collect())).collect())
}

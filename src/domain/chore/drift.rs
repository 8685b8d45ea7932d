//! Measuring what must not be: overviews that the board lets stand though they are no more.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{TenantId, UserId};
use entity::prelude::*;
use entity::user::{Column, Entity as User};
use tokio::time::sleep;

use crate::app::App;
use crate::domain::overview::{self, Entry, Stood};
use crate::domain::tenant::{self, Failures, Tenant};
use crate::error::Result;

/// What is logged where there are any.
pub const DRIFTED: &str = "the board lets overviews stand that are no more";

/// Overviews that are looked at each time.
const ENTRIES: usize = LIST;

/// Counts those of this node's remembered overviews that hold by the board, and are others when they are read. Each node looks at its
/// own.
pub async fn measure(app: &Arc<App>) -> Result<()> {
    let mut failures = Failures::default();
    for (id, entries) in by_tenant(app, app.caches.overviews.some(ENTRIES)).await? {
        let drift = async {
            let tenant = tenant::by_id(app, id).await?;
            drift(app, &tenant, &entries).await
        };
        let drift = failures.note(app, id, drift.await).unwrap_or_default();
        if drift > 0 {
            tracing::error!(tenant = id.0, drift, "{DRIFTED}");
        }
        app.metrics.overview_drift.inc_by(drift as u64);
    }
    failures.end()
}

/// What was committed a moment ago may not be off the board yet, and nobody was told of it: what has changed is looked at again after
/// longer than that can take.
async fn drift(app: &Arc<App>, tenant: &Arc<Tenant>, entries: &[Arc<Entry>]) -> Result<usize> {
    let mut changed: Vec<Stood> = Vec::new();
    for (entry, hung) in overview::doubtful(app, tenant, entries).await? {
        let user = entry.overview.user;
        let anew = overview::anew(app, tenant, &[user], entry.wish.clone()).await?.remove(&user);
        let remembered = entry.shown(entry.proof.complete_upto()).fingerprint();
        if anew.is_none_or(|anew| anew.fingerprint() != remembered) {
            changed.push((entry, hung));
        }
    }
    let Some(board) = app.board.as_ref().filter(|_| !changed.is_empty()) else { return Ok(0) };
    sleep(board.pace.quiet()).await;
    Ok(overview::still_standing(app, tenant, &changed).await)
}

async fn by_tenant(app: &App, entries: Vec<Arc<Entry>>) -> Result<HashMap<TenantId, Vec<Arc<Entry>>>> {
    let users: Vec<UserId> = entries.iter().map(|entry| entry.overview.user).collect();
    let of = User::find().filter(Column::Id.among(&app.db.read, &users)).select_only();
    let of = of.columns([Column::Id, Column::TenantId]).into_tuple::<(UserId, TenantId)>();
    let of: HashMap<UserId, TenantId> = of.all(&app.db.read).await?.into_iter().collect();
    let mut by_tenant: HashMap<TenantId, Vec<Arc<Entry>>> = HashMap::new();
    for entry in entries {
        if let Some(tenant) = of.get(&entry.overview.user) {
            by_tenant.entry(*tenant).or_default().push(entry);
        }
    }
    Ok(by_tenant)
}

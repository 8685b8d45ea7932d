//! Measures an error that must not happen: overviews that Redis reports as valid although they are outdated.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{TenantId, UserId};
use entity::prelude::*;
use entity::user::{Column, Entity as User};
use tokio::time::sleep;

use base::error::Result;
use domain::overview::{self, CachedOverview, CheckedEntry};
use domain::tenant::{self, Tenant, TenantFailures};
use store::Store;

/// The log message if there are any.
pub const DRIFTED: &str = "Redis calls cached overviews valid that are outdated";

/// Overviews per check.
const ENTRIES: usize = LIST;

/// Counts this node's cached overviews that Redis calls valid but that differ when read again. Each node checks its
/// own.
pub async fn measure_drift(store: &Arc<Store>) -> Result<()> {
    let mut failures = TenantFailures::default();
    for (id, entries) in group_by_tenant(store, store.caches.overviews.sample(ENTRIES)).await? {
        let drift = async {
            let tenant = tenant::get_by_id(store, id).await?;
            count_drifted(store, &tenant, &entries).await
        };
        let drift = failures.record_failure(store, id, drift.await).unwrap_or_default();
        if drift > 0 {
            tracing::error!(tenant = id.0, drift, "{DRIFTED}");
        }
        store.metrics.overview_drift.inc_by(drift as u64);
    }
    failures.into_result()
}

/// A recent commit may not have invalidated its tokens yet, and no client has learned of it. So this checks changed
/// overviews again, after longer than an invalidation can take.
async fn count_drifted(store: &Arc<Store>, tenant: &Arc<Tenant>, entries: &[Arc<CachedOverview>]) -> Result<usize> {
    let mut changed: Vec<CheckedEntry> = Vec::new();
    for (entry, hung) in overview::find_doubtful(store, tenant, entries).await? {
        let user = entry.overview.user;
        let anew = overview::read_from_database(store, tenant, &[user], entry.wish.clone()).await?.remove(&user);
        let remembered = entry.to_overview(entry.proof.complete_upto()).fingerprint();
        if anew.is_none_or(|anew| anew.fingerprint() != remembered) {
            changed.push((entry, hung));
        }
    }
    let Some(invalidation) = store.invalidation.as_ref().filter(|_| !changed.is_empty()) else { return Ok(0) };
    sleep(invalidation.pace.quiet_period()).await;
    Ok(overview::count_still_valid(store, tenant, &changed).await)
}

async fn group_by_tenant(
    store: &Store,
    entries: Vec<Arc<CachedOverview>>,
) -> Result<HashMap<TenantId, Vec<Arc<CachedOverview>>>> {
    let users: Vec<UserId> = entries.iter().map(|entry| entry.overview.user).collect();
    let of = User::find().filter(Column::Id.is_in_list(&store.db.read, &users)).select_only();
    let of = of.columns([Column::Id, Column::TenantId]).into_tuple::<(UserId, TenantId)>();
    let of: HashMap<UserId, TenantId> = of.all(&store.db.read).await?.into_iter().collect();
    let mut by_tenant: HashMap<TenantId, Vec<Arc<CachedOverview>>> = HashMap::new();
    for entry in entries {
        if let Some(tenant) = of.get(&entry.overview.user) {
            by_tenant.entry(*tenant).or_default().push(entry);
        }
    }
    Ok(by_tenant)
}

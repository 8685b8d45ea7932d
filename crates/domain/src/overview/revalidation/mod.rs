//! Revalidates cached data of inboxes. Concurrent requests share a statement.

mod database;
mod drift;
mod queries;
mod redis;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use crate::inbox::freshness::ReadBound;
use crate::tenant::{Tenant, TenantContext};
use base::error::Result;
use database::{PROOFS, ValidityList, VersionSnapshot};
pub use drift::{CheckedEntry, count_still_valid, find_doubtful};
use model::cache_validator::CacheValidator;
use model::overview::{CachedOverview, OverviewRequest, UserOverview};
use store::{BatchLimits, Batcher, Principal, Store};

/// The batcher for revalidation requests of a tenant's users.
type RevalidationBatcher = Batcher<TenantContext, Arc<CacheValidator>, ValidityList>;

/// Returns the cached overviews that are still valid. Takes one statement if any are cached, or two if the log has
/// grown, which later revalidations then know.
pub(super) async fn recall_valid(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &OverviewRequest,
) -> Result<HashMap<UserId, UserOverview>> {
    let mut entries: Vec<Arc<CachedOverview>> = Vec::new();
    for user in users {
        entries.extend(store.caches.overviews.find_by_request(*user, wish));
    }
    let proofs: Vec<Arc<CacheValidator>> = entries.iter().map(|entry| entry.proof.clone()).collect();
    let held = check_validity(store, tenant, proofs).await?;
    let shown =
        |(entry, cursor): (Arc<CachedOverview>, Option<Seq>)| Some((entry.overview.user, entry.to_overview(cursor?)));
    Ok(entries.into_iter().zip(held).filter_map(shown).collect())
}

/// For each validator, the log position its data is valid for, or `None`. Checks Redis first, then the database.
pub(super) async fn check_validity(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    proofs: Vec<Arc<CacheValidator>>,
) -> Result<ValidityList> {
    let mut held = redis::check_redis(store, tenant, &proofs).await;
    let places: Vec<usize> = (0..held.len()).filter(|place| held[*place].is_none()).collect();
    if places.is_empty() {
        return Ok(held);
    }
    let questions = tenant.queues.get_or_create(|| {
        let bounds = BatchLimits::for_reads(store.config.database.connections, PROOFS);
        RevalidationBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| revalidate_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    let asked = places.iter().map(|place| proofs[*place].clone()).collect();
    let cursors = questions.submit(|| (store.clone(), tenant.clone()), asked).await?;
    for (place, cursor) in places.into_iter().zip(cursors) {
        held[place] = cursor;
    }
    Ok(held)
}

async fn revalidate_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<Arc<CacheValidator>>],
) -> Result<Vec<Result<ValidityList>>> {
    let now = store.now();
    let hung = redis::register_tokens(store, tenant, jobs.iter().flatten(), now).await?;
    let end = tenant.log_end();
    let (quiet, mut moved): (Vec<_>, Vec<_>) = jobs.iter().flatten().partition(|proof| end <= proof.complete_upto());
    let mut known = VersionSnapshot::default();
    if !quiet.is_empty() {
        // As far as this process knows, the log has not grown since. If that is true, no inbox is behind.
        known.load_versions(store, tenant, &quiet, ReadBound::KnownEnd, now).await?;
        // Uses the end that these statements saw, even if other tasks have reset the tenant's end meanwhile.
        let end = tenant.log_end().max(known.log_end());
        moved.extend(quiet.into_iter().filter(|proof| proof.complete_upto() < end));
    }
    if !moved.is_empty() {
        known.load_versions(store, tenant, &moved, ReadBound::End, now).await?;
    }
    let held = |proof: &Arc<CacheValidator>| {
        let cursor = known.valid_position(tenant, proof, now)?;
        if let Some(hung) = &hung {
            hung.record_validity(tenant, proof, known.expires_at);
        }
        Some(cursor)
    };
    Ok(jobs.iter().map(|job| Ok(job.iter().map(held).collect())).collect())
}

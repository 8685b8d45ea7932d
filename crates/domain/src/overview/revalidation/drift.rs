//! Finds overviews that Redis reports as valid although the database may not.

use std::sync::Arc;

use super::database::{PROOFS, VersionSnapshot};
use super::redis::load_valid_hashes;
use crate::inbox::freshness::ReadBound;
use crate::tenant::Tenant;
use base::error::Result;
use model::overview::CachedOverview;
use store::Store;

/// A cached overview, and the hash of its Redis tokens when they were checked.
pub type CheckedEntry = (Arc<CachedOverview>, u64);

/// Entries that are valid by Redis and then not by the database. Not every one is an error: it may have changed a
/// moment ago, or the database may reject it only because something of another user has expired.
pub async fn find_doubtful(
    store: &Store,
    tenant: &Tenant,
    entries: &[Arc<CachedOverview>],
) -> Result<Vec<CheckedEntry>> {
    let Some(invalidation) = &store.invalidation else { return Ok(Vec::new()) };
    let (now, mut doubtful) = (store.now(), Vec::new());
    for entries in entries.chunks(PROOFS) {
        let proofs: Vec<_> = entries.iter().map(|entry| entry.proof.clone()).collect();
        let hanging = load_valid_hashes(invalidation, tenant, &proofs, now).await;
        let standing = entries.iter().cloned().zip(hanging);
        let standing: Vec<CheckedEntry> = standing.filter_map(|(entry, hung)| Some((entry, hung?))).collect();
        if !standing.is_empty() {
            let asked: Vec<_> = standing.iter().map(|(entry, _)| &entry.proof).collect();
            let mut known = VersionSnapshot::default();
            known.load_versions(store, tenant, &asked, ReadBound::End, now).await?;
            doubtful.extend(
                standing.into_iter().filter(|(entry, _)| known.valid_position(tenant, &entry.proof, now).is_none()),
            );
        }
    }
    Ok(doubtful)
}

/// How many of them are still valid by Redis, with the same tokens as before.
pub async fn count_still_valid(store: &Store, tenant: &Tenant, stood: &[CheckedEntry]) -> usize {
    let Some(invalidation) = &store.invalidation else { return 0 };
    let mut count = 0;
    for stood in stood.chunks(PROOFS) {
        let proofs: Vec<_> = stood.iter().map(|(entry, _)| entry.proof.clone()).collect();
        let hanging = load_valid_hashes(invalidation, tenant, &proofs, store.now()).await;
        count += stood.iter().zip(hanging).filter(|((_, by), hung)| *hung == Some(*by)).count();
    }
    count
}

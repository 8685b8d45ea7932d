//! The overview: unread counts and latest items of every type, in one statement for any number of users and types.

mod batched;
mod queries;
mod revalidation;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::inbox::freshness::{self, FreshnessVerdict, ReadBound};
use super::tenant::{Tenant, load_head};
use super::{catalogue, view};
use base::error::{Error, Result};
use batched::OverviewJob;
pub use model::overview::{AddResult, BoundedCount, CachedOverview, OverviewRequest, TypeOverview, UserOverview};
use model::response_cache::CachedResponse;
pub use queries::overview_query;
pub use revalidation::{CheckedEntry, count_still_valid, find_doubtful};
use store::Store;

/// Rejects an invalid cap or an unknown type.
pub async fn check_wish(store: &Store, tenant: &Tenant, wish: &OverviewRequest) -> Result<()> {
    check_cap(wish)?;
    let types = wish.types.as_deref();
    if catalogue::load_cached(store, tenant).await?.select_types("types", types).is_err() {
        catalogue::load_current(store, tenant).await?.select_types("types", types)?;
    }
    Ok(())
}

fn check_cap(wish: &OverviewRequest) -> Result<()> {
    if wish.cap.is_some_and(|cap| cap < 1) {
        return Err(Error::bad_input("cap", "must be at least 1"));
    }
    Ok(())
}

/// Returns the overviews of users. Takes one statement if all are cached and valid, or if none is cached; two if some
/// have changed; plus a sync of inboxes that are behind. Views take one more for all users. (MySQL needs one statement
/// per 2,000 pairs of user and type.) Concurrent requests share statements.
pub async fn load_overviews(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &OverviewRequest,
) -> Result<HashMap<UserId, UserOverview>> {
    check_cap(wish)?;
    let inbox = OverviewRequest { views: None, ..wish.clone() };
    let mut overviews = revalidation::recall_valid(store, tenant, users, &inbox).await?;
    let others: Vec<UserId> = users.iter().filter(|user| !overviews.contains_key(user)).copied().collect();
    if !others.is_empty() {
        overviews.extend(read_from_database(store, tenant, &others, inbox).await?);
    }
    if let Some(first) = wish.views {
        for (user, unread) in view::load_unread(store, users, first).await? {
            overviews.entry(user).and_modify(|overview| overview.views = unread);
        }
    }
    if overviews.len() < users.len() {
        // A user was erased. This notes the erasure, so that a retry looks the ids up again.
        load_head(&store.db.read, tenant).await?;
    }
    Ok(overviews)
}

/// Returns the cached response to this request and the current cursor, if the response is still valid. Costs one shared
/// statement, or none on a miss.
pub async fn find_cached_response(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    user: UserId,
    request: i64,
) -> Result<Option<(Arc<CachedResponse>, Seq)>> {
    let Some(answer) = store.caches.answers.find(user, |of| of.request == request) else { return Ok(None) };
    let held = revalidation::check_validity(store, tenant, answer.proofs.clone()).await?;
    let cursors: Option<Vec<Seq>> = held.into_iter().collect();
    // All validators hold up to the smallest of these positions, and nothing newer concerns this user.
    Ok(cursors.and_then(|cursors| cursors.into_iter().min()).map(|cursor| (answer, cursor)))
}

/// Reads overviews from the database. Syncs inboxes that are behind first.
pub async fn read_from_database(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: OverviewRequest,
) -> Result<HashMap<UserId, UserOverview>> {
    let mut catalogue = catalogue::load_cached(store, tenant).await?;
    let (mut users, mut reach, mut overviews) = (users.to_vec(), ReadBound::End, HashMap::with_capacity(users.len()));
    loop {
        let want = match OverviewJob::new(&wish, &catalogue, reach) {
            Ok(want) => want,
            Err(error) => {
                let seen = catalogue.version;
                catalogue = catalogue::load_current(store, tenant).await?;
                if catalogue.version == seen {
                    return Err(error);
                }
                continue;
            }
        };
        let reading = batched::submit_read(store, tenant, &users, want).await?;
        match freshness::check_or_sync(store, tenant, &reading.standings, &catalogue).await? {
            FreshnessVerdict::Outdated(newer) => catalogue = newer,
            FreshnessVerdict::WereBehind(behind) => {
                // The results of the other users are valid.
                let stands = |user: &UserId| behind.binary_search(user).is_err();
                overviews.extend(reading.overviews.into_iter().filter(|(user, _)| stands(user)));
                (users, reach) = (behind, ReadBound::Cursor);
            }
            FreshnessVerdict::Stands => {
                overviews.extend(reading.overviews);
                return Ok(overviews);
            }
        }
    }
}

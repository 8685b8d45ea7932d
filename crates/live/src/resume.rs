//! Where new and returning sessions start, and which items they missed.
//!
//! When a node dies, all its sessions return on other nodes within seconds. Their reads are batched: one statement
//! serves many sessions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use super::new_items::{NewItemsRange, load_new_items};
use base::error::{Error, Result};
use domain::inbox::{UserItem, freshness};
use domain::tenant::{Tenant, TenantContext, load_head};
use domain::user;
use store::{BatchLimits, Batcher, Principal, Store};

/// Inboxes per statement when reading start positions.
const PLACES: usize = 256;

/// Sessions per statement when reading missed items.
const READERS: usize = 64;

/// A session that missed at most this many log entries reads them in a batch with others.
pub(super) const NEAR: i64 = 256;

/// Where a session starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResumePoint {
    /// The user's inbox is complete up to here.
    pub end: Seq,
    /// Publications before this may be gone.
    pub oldest: Seq,
}

/// The items that a session missed: after one log position, up to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct MissedRange {
    pub user: UserId,
    pub after: Seq,
    pub upto: Seq,
}

/// The batcher for start positions of a tenant's sessions.
type ResumePointBatcher = Batcher<TenantContext, UserId, ResumePoint>;

/// The batcher for missed items of a tenant's sessions.
type MissedItemsBatcher = Batcher<TenantContext, MissedRange, Vec<UserItem>>;

/// Where a user's session starts: the end of the log. Syncs the inbox first if it is behind.
pub(super) async fn find_resume_point(store: &Arc<Store>, tenant: &Arc<Tenant>, user: UserId) -> Result<ResumePoint> {
    let waiting = tenant.queues.get_or_create(|| {
        let bounds = BatchLimits::for_reads(store.config.database.connections, PLACES);
        ResumePointBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| find_resume_points(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    waiting.submit(|| (store.clone(), tenant.clone()), vec![user]).await
}

/// The items that a session missed, oldest first, from a part of the log with at most [`NEAR`] entries.
pub(super) async fn load_missed(store: &Arc<Store>, tenant: &Arc<Tenant>, of: MissedRange) -> Result<Vec<UserItem>> {
    let waiting = tenant.queues.get_or_create(|| {
        let bounds = BatchLimits::for_reads(store.config.database.connections, READERS);
        MissedItemsBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| load_missed_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    waiting.submit(|| (store.clone(), tenant.clone()), vec![of]).await
}

/// Two statements, with users in order of id, and a sync of the inboxes that are behind.
async fn find_resume_points(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<UserId>],
) -> Result<Vec<Result<ResumePoint>>> {
    let mut users: Vec<UserId> = jobs.iter().flatten().copied().collect();
    users.sort_unstable();
    users.dedup();
    let known = users.len();
    let oldest = user::seq_before(&store.db.read, tenant, store.now() - store.config.retention_millis()).await?;
    let mut ends: HashMap<UserId, Seq> = HashMap::with_capacity(users.len());
    let mut behind = Vec::new();
    for standing in freshness::load_positions(&store.db.read, tenant, users).await? {
        if ends.insert(standing.user, standing.complete_upto()).is_none() && standing.is_behind() {
            behind.push(standing.user);
        }
    }
    if !behind.is_empty() {
        let end = freshness::sync_inboxes(store, tenant, &behind).await?;
        ends.extend(behind.into_iter().map(|user| (user, end)));
    }
    if ends.len() < known {
        // A user was erased. This notes it, so that a retry looks the id up again.
        load_head(&store.db.read, tenant).await?;
    }
    let place = |job: &Vec<UserId>| {
        let end = job.iter().find_map(|user| ends.get(user)).ok_or(Error::Erased)?;
        Ok(ResumePoint { end: *end, oldest: Seq(oldest) })
    };
    Ok(jobs.iter().map(place).collect())
}

/// Two statements per group of sessions that start within [`NEAR`] entries of each other.
async fn load_missed_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<MissedRange>],
) -> Result<Vec<Result<Vec<UserItem>>>> {
    let mut all: Vec<MissedRange> = jobs.iter().flatten().copied().collect();
    all.sort_unstable_by_key(|of| of.after);
    let mut by_user: HashMap<UserId, BTreeMap<Seq, UserItem>> = HashMap::with_capacity(all.len());
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let (together, further) = rest.split_at(rest.partition_point(|of| of.after.0 - first.after.0 <= NEAR));
        rest = further;
        let mut users: Vec<UserId> = together.iter().map(|of| of.user).collect();
        users.sort_unstable();
        users.dedup();
        let after = first.after;
        let upto = together.iter().map(|of| of.upto).max().unwrap_or_default();
        for item in
            load_new_items(store, tenant, &users, NewItemsRange { after, upto, types: None, limit: None }).await?.items
        {
            by_user.entry(item.user).or_default().insert(item.seq, item);
        }
    }
    let own = |of: &MissedRange| {
        let is_own = |item: &&UserItem| of.after < item.seq && item.seq <= of.upto;
        by_user.get(&of.user).into_iter().flat_map(BTreeMap::values).filter(is_own).cloned().collect::<Vec<_>>()
    };
    Ok(jobs.iter().map(|job| Ok(job.iter().flat_map(own).collect())).collect())
}

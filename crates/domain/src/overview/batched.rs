//! Reads overviews from the database. Concurrent requests for the same kind of overview share one statement.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::UserId;
use entity::prelude::*;
use futures_util::FutureExt;
use sea_orm::{DbBackend, QueryResult};

use super::queries::{OverviewCounts, OverviewRow, overview_query};
use super::{BoundedCount, OverviewRequest, TypeOverview, UserOverview};
use crate::catalogue::{Catalogue, MessageType};
use crate::inbox::freshness::{InboxPosition, ReadBound};
use crate::inbox::item::{self, ItemWithContent, UserItemRow};
use crate::tenant::{Tenant, TenantContext};
use crate::view;
use base::clock::Millis;
use base::error::Result;
use model::cache_validator::CacheValidator;
use model::overview::CachedOverview;
use store::{BatchLimits, Batcher, Principal, Store};

/// Users per batch. On PostgreSQL, 16 users in one batch cost half of 16 single reads; larger batches save no more.
const USERS: usize = 16;

/// Branches per statement on MySQL, one for each user and type. Each takes about twenty of its 65,535 parameters.
const BRANCHES: usize = 2000;

/// The batcher for requests of a tenant's users.
type OverviewBatcher = Batcher<TenantContext, (UserId, Arc<OverviewJob>), OverviewReadResult>;

/// The overview that a request wants.
#[derive(Debug)]
pub(super) struct OverviewJob {
    wish: OverviewRequest,
    types: Vec<Arc<MessageType>>,
    /// The catalogue of `types`.
    catalogue: Arc<Catalogue>,
    reach: ReadBound,
}

/// The result of a read.
#[derive(Debug, Default)]
pub(super) struct OverviewReadResult {
    /// How fresh the inboxes are.
    pub standings: Vec<InboxPosition>,
    /// Empty if the catalogue has changed since.
    pub overviews: HashMap<UserId, UserOverview>,
}

impl OverviewJob {
    /// Fails if the catalogue lacks one of the requested types.
    pub fn new(wish: &OverviewRequest, catalogue: &Arc<Catalogue>, reach: ReadBound) -> Result<Self> {
        let types = catalogue.select_types("types", wish.types.as_deref())?;
        Ok(Self { wish: wish.clone(), types, catalogue: catalogue.clone(), reach })
    }

    fn is_same(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.catalogue.version, of.reach);
        self.wish == other.wish && facts(self) == facts(other)
    }
}

/// Reads overviews in one statement with other waiting requests. A request for 16 or more users gets its own.
pub(super) async fn submit_read(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    want: OverviewJob,
) -> Result<OverviewReadResult> {
    if users.len() >= USERS {
        return read_overviews(store, tenant, users, &want).await;
    }
    let readings = tenant.queues.get_or_create(|| {
        let connections = store.config.database.connections;
        let mut bounds = BatchLimits::for_reads(connections, USERS);
        if store.db.backend() == DbBackend::MySql {
            // Each user is a branch of the statement, so batching gains nothing.
            bounds = BatchLimits { rounds: connections as usize, things: 1, ..bounds };
        }
        OverviewBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| read_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    let want = Arc::new(want);
    readings.submit(|| (store.clone(), tenant.clone()), users.iter().map(|user| (*user, want.clone())).collect()).await
}

/// Runs one statement for each different want.
async fn read_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<(UserId, Arc<OverviewJob>)>],
) -> Result<Vec<Result<OverviewReadResult>>> {
    let mut wants: Vec<(Arc<OverviewJob>, Vec<UserId>)> = Vec::new();
    for (user, want) in jobs.iter().flatten() {
        match wants.iter_mut().find(|(known, _)| known.is_same(want)) {
            Some((_, users)) => users.push(*user),
            None => wants.push((want.clone(), vec![*user])),
        }
    }
    let mut readings = Vec::with_capacity(wants.len());
    for (want, mut users) in wants {
        users.sort_unstable();
        users.dedup();
        let reading = read_overviews(store, tenant, &users, &want).await?;
        readings.push((want, reading));
    }
    let of = |job: &Vec<(UserId, Arc<OverviewJob>)>| {
        let mut own = OverviewReadResult::default();
        for (user, want) in job {
            let Some((_, all)) = readings.iter().find(|(known, _)| known.is_same(want)) else { continue };
            own.standings.extend(all.standings.iter().find(|standing| standing.user == *user));
            own.overviews.extend(all.overviews.get(user).map(|overview| (*user, overview.clone())));
        }
        Ok(own)
    };
    Ok(jobs.iter().map(of).collect())
}

/// Reads overviews and caches them.
async fn read_overviews(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    want: &OverviewJob,
) -> Result<OverviewReadResult> {
    let is_mysql = store.db.backend() == DbBackend::MySql;
    let at_once = if is_mysql { BRANCHES / want.types.len().max(1) } else { LIST };
    let mut reading = OverviewReadResult::default();
    for users in users.chunks(at_once.min(LIST)) {
        let now = store.now();
        let statement =
            overview_query(store, tenant, users, &want.types, &want.wish, (want.reach, now)).into_statement();
        let found = store.db.read.query_all_raw(statement).await?;
        let rows = found.iter().map(|row| Ok((OverviewRow::read_columns(row, 0)?, row))).collect::<Result<Vec<_>>>()?;
        let is_of_catalogue = |((standing, _), _): &OverviewRow| standing.catalogue_version == want.catalogue.version;
        if rows.iter().all(|(row, _)| is_of_catalogue(row)) {
            let overviews = assemble_overviews((store, tenant), &rows, want, now)?;
            cache_overviews(store, &overviews, want);
            reading.overviews.extend(overviews);
        }
        reading.standings.extend(rows.iter().map(|(((standing, _), _), _)| *standing));
    }
    reading.standings.dedup_by_key(|standing| standing.user);
    Ok(reading)
}

/// Caches the overviews that have a cache validator.
fn cache_overviews(store: &Store, overviews: &HashMap<UserId, UserOverview>, want: &OverviewJob) {
    if !store.caches.overviews.is_enabled() {
        return;
    }
    for overview in overviews.values() {
        let Some(proof) = overview.proof.clone() else { continue };
        let entry = CachedOverview::new(want.wish.clone(), overview.clone(), want.catalogue.clone(), proof);
        store.caches.overviews.insert(overview.user, entry);
    }
}

/// Builds overviews from rows, each with its cache validator.
fn assemble_overviews(
    (store, tenant): (&Store, &Tenant),
    rows: &[(OverviewRow, &QueryResult)],
    want: &OverviewJob,
    read_at: Millis,
) -> Result<HashMap<UserId, UserOverview>> {
    let OverviewJob { wish, catalogue, .. } = want;
    let mut overviews: HashMap<UserId, (UserOverview, Option<CacheValidator>)> = HashMap::new();
    for (((standing, stamp), of), row) in rows {
        let begun = || (empty_overview(standing, of, want), CacheValidator::for_inbox(standing, *stamp, read_at));
        let (overview, proof) = overviews.entry(standing.user).or_insert_with(begun);
        let Some((of_type, unread)) = of.type_id.zip(of.unread) else { continue };
        let Some(of_type) = overview.types.iter_mut().find(|of| of.message_type.id == of_type) else { continue };
        of_type.unread = BoundedCount { count: unread, is_exact: true };
        let Some(own) = Option::<UserItemRow>::read_columns(row, OverviewRow::MANY)? else { continue };
        let reading = item::ContentReader::new(store, tenant, catalogue, stamp.texts);
        let places = (OverviewRow::MANY + UserItemRow::MANY, OverviewRow::MANY + ItemWithContent::MANY);
        if let Some((edition, content)) = reading.read_content_for(own.seq, row, places)? {
            of_type.latest = Some(item::build_item(&own, content));
            if let Some(proof) = proof {
                proof.senders.extend(edition.sender());
            }
        }
    }
    let whole = |(user, (mut overview, proof)): (UserId, (UserOverview, Option<CacheValidator>))| {
        let sum = overview.types.iter().map(|of| of.unread.count).sum();
        overview.unread = BoundedCount::with_cap(sum, wish.cap);
        overview.types.iter_mut().for_each(|of| of.unread = BoundedCount::with_cap(of.unread.count, wish.cap));
        overview.proof = proof.map(|mut proof| {
            proof.senders.shrink_to_fit();
            Arc::new(proof)
        });
        (user, overview)
    };
    Ok(overviews.into_iter().map(whole).collect())
}

/// An overview with only the unseen count filled in.
fn empty_overview(
    standing: &InboxPosition,
    of: &OverviewCounts,
    OverviewJob { wish, types, catalogue, .. }: &OverviewJob,
) -> UserOverview {
    let none = BoundedCount { count: 0, is_exact: true };
    let of_type = |kind: &Arc<MessageType>| TypeOverview { message_type: kind.clone(), unread: none, latest: None };
    UserOverview {
        user: standing.user,
        unread: none,
        unseen: BoundedCount::with_cap(of.unseen.unwrap_or_default(), wish.cap),
        views: view::UnreadViews::default(),
        cap: wish.cap,
        types: types.iter().map(of_type).collect(),
        proof: None,
        cursor: standing.complete_upto(),
        catalogue_version: catalogue.version,
    }
}

//! Marks of items by id. Marks that users of a tenant make at the same time share one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{ConnectionTrait, EntityTrait, Expr, InList, LIST, QueryFilter};
use entity::user::{self, Entity as User};
use futures_util::FutureExt;
use sea_orm::DbBackend;
use sea_orm::sea_query::ExprTrait;

use super::outcome::{ChangeCounts, MarkOutcome};
use super::queries::{self, ItemBeforeMark, LockedVersion};
use super::transitions::{ItemChange, ItemTransition, find_transition, write_transitions};
use crate::inbox::sync;
use crate::tenant::{Tenant, TenantContext};
use crate::{catalogue, counters, user as people};
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
use model::overview::AppliedMark;
use store::{BatchLimits, Batcher, PendingAudit, Principal, Store, Transaction, transaction};

/// Items per transaction, unless a single mark has more.
const ITEMS: usize = 1000;

/// Concurrent transactions of a tenant: one is flushed to disk while others run their statements.
const ROUNDS: usize = 4;

/// One item to mark.
#[derive(Clone, Copy)]
struct ItemMark {
    user: UserId,
    seq: Seq,
    change: ItemChange,
}

/// The batcher for marks of a tenant's users. `None` if the row was locked or an amendment is not synced yet.
type MarkBatcher = Batcher<TenantContext, ItemMark, Option<ChangeCounts>>;

/// Changes the state of those items that exist.
///
/// The inbox need not be synced first, unless it may miss an amendment. In that case, or if another transaction holds
/// the user's row, the mark gets a transaction of its own, so that no user waits for another user's lock.
pub(super) async fn apply(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    user: UserId,
    seqs: &[Seq],
    change: ItemChange,
) -> Result<MarkOutcome> {
    let marks: Vec<ItemMark> = seqs.iter().map(|seq| ItemMark { user, seq: *seq, change }).collect();
    if marks.is_empty() {
        return Ok(MarkOutcome::default());
    }
    let queue = tenant.queues.get_or_create(|| {
        let rounds = if store.db.backend() == DbBackend::Sqlite { 1 } else { ROUNDS };
        let bounds = BatchLimits { rounds, things: ITEMS, patience: store.db.write_timeout(), splits_after: None };
        MarkBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| mark_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    // An audited mark needs a transaction of its own, which writes the audit entry.
    let shared = if PendingAudit::is_pending() {
        None
    } else {
        queue.submit(|| (store.clone(), tenant.clone()), marks.clone()).await?
    };
    let changed = match shared {
        Some(changed) => changed,
        None => mark_individually(store, tenant, user, &marks).await?,
    };
    if changed.is_empty() {
        return Ok(MarkOutcome::default());
    }
    let catalogue = catalogue::load_cached(store, tenant).await?;
    if changed.is_covered_by(&catalogue) {
        return Ok(changed.to_outcome(&catalogue));
    }
    Ok(changed.to_outcome(&*catalogue::load_current(store, tenant).await?))
}

/// Waits for the user's row, syncs the inbox and marks the items, in a transaction of this user alone.
async fn mark_individually(store: &Store, tenant: &Tenant, user: UserId, marks: &[ItemMark]) -> Result<ChangeCounts> {
    sync::sync_if_far(store, tenant, &[user]).await?;
    let done = transaction!(store.db, |txn| {
        let now = store.now();
        sync::sync_in_transaction(txn, tenant, &[user], now).await?;
        let done = apply_marks(txn, tenant, &[marks], now).await?;
        if !done.marks.is_empty() {
            people::record_inbox_change(txn, tenant, &[user]).await?;
        }
        Ok(done)
    })?;
    store.caches.invalidate_users(&[user]);
    Ok(done.outcomes.into_iter().next().unwrap_or_default())
}

/// Marks the items of all users with free rows, in one transaction. Returns the outcome of each job, in order.
async fn mark_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<ItemMark>],
) -> Result<Vec<Result<Option<ChangeCounts>>>> {
    let user_of = |job: &Vec<ItemMark>| job.first().map(|one| one.user);
    let users: BTreeSet<UserId> = jobs.iter().filter_map(user_of).collect();
    let users = Vec::from_iter(users);
    let (versions, done) = transaction!(store.db, |txn| {
        let versions = lock_free_users(txn, tenant, &users).await?;
        let is_free = |job: &&Vec<ItemMark>| user_of(job).is_some_and(|user| versions.contains_key(&user));
        let to_do: Vec<&[ItemMark]> = jobs.iter().filter(is_free).map(Vec::as_slice).collect();
        let done = apply_marks(txn, tenant, &to_do, store.now()).await?;
        txn.notify(Notice::inbox_changes(tenant.id, &done.marks.keys().copied().collect::<Vec<_>>()));
        Ok((versions, done))
    })?;
    for (user, version) in &versions {
        let marks = done.marks.get(user).map(Vec::as_slice).unwrap_or_default();
        store.caches.apply_marks(*user, *version, marks);
    }
    let mut outcomes = done.outcomes.into_iter();
    let outcome = |job| {
        let is_free = user_of(job).is_some_and(|user| versions.contains_key(&user));
        Ok(if is_free { outcomes.next() } else { None })
    };
    Ok(jobs.iter().map(outcome).collect())
}

/// Locks the free rows ([`queries::lock_and_increment`]), increments the versions and returns them. A mark that
/// changes nothing also increments the version, so cached overviews are re-stamped instead of dropped.
async fn lock_free_users(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<HashMap<UserId, i64>> {
    let rows: Vec<LockedVersion> = queries::lock_and_increment(txn, tenant, users).fetch_by_name(txn).await?;
    let versions: HashMap<UserId, i64> = rows.into_iter().map(|row| (row.id, row.version)).collect();
    if txn.get_database_backend() == DbBackend::MySql && !versions.is_empty() {
        let free: Vec<UserId> = versions.keys().copied().collect();
        let raise = User::update_many().col_expr(user::Column::Version, Expr::col(user::Column::Version).add(1));
        raise.filter(user::Column::Id.is_in_list(txn, &free)).exec(txn).await?;
    }
    Ok(versions)
}

/// The outcome of a batch of marks.
#[derive(Default)]
struct MarkBatchOutcome {
    /// One for each job.
    outcomes: Vec<ChangeCounts>,
    /// The changed items of each user, in the order of the changes.
    marks: BTreeMap<UserId, Vec<AppliedMark>>,
}

/// Applies marks. The caller has locked the users' rows. A second job of the same user sees the result of the first.
async fn apply_marks(
    txn: &Transaction,
    tenant: &Tenant,
    jobs: &[&[ItemMark]],
    now: Millis,
) -> Result<MarkBatchOutcome> {
    let mut done = MarkBatchOutcome { outcomes: vec![ChangeCounts::default(); jobs.len()], marks: BTreeMap::new() };
    let mut waiting: Vec<usize> = (0..jobs.len()).collect();
    while !waiting.is_empty() {
        let mut taken = HashSet::new();
        let (wave, later): (Vec<usize>, Vec<usize>) =
            waiting.into_iter().partition(|place| jobs[*place].first().is_some_and(|one| taken.insert(one.user)));
        waiting = later;
        let mut found = load_items(txn, wave.iter().flat_map(|place| jobs[*place]), now).await?;
        let spans: BTreeSet<UserId> = found.values().filter(|of| of.has_spans == 1).map(|of| of.user_id).collect();
        if !spans.is_empty() {
            counters::flush_users(txn, &Vec::from_iter(spans)).await?;
        }
        let mut moved = Vec::new();
        for place in wave {
            for ItemMark { user, seq, change } in jobs[place] {
                let Some(of) = found.remove(&(*user, *seq)) else { continue };
                let Some(step) = find_transition(*change, of.state, of.is_up_to_mark == 1) else { continue };
                done.outcomes[place].add(of.type_id, 1);
                done.marks.entry(*user).or_default().push(step.to_mark(*seq, of.type_id, now));
                moved.push(ItemTransition { user: *user, seq: *seq, step });
            }
        }
        write_transitions(txn, tenant, &moved, now).await?;
    }
    Ok(done)
}

async fn load_items<'a>(
    txn: &Transaction,
    marks: impl Iterator<Item = &'a ItemMark>,
    now: Millis,
) -> Result<HashMap<(UserId, Seq), ItemBeforeMark>> {
    let items: BTreeSet<(UserId, Seq)> = marks.map(|one| (one.user, one.seq)).collect();
    let mut found = HashMap::with_capacity(items.len());
    for items in Vec::from_iter(items).chunks(LIST) {
        let rows: Vec<ItemBeforeMark> = queries::select_items(txn, items, now).fetch_by_name(txn).await?;
        found.extend(rows.into_iter().map(|row| ((row.user_id, row.seq), row)));
    }
    Ok(found)
}

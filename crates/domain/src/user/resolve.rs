//! Looks users up by the backend's ids, and creates them when they are first mentioned.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use entity::user::Column;
use futures_util::FutureExt;

use super::{retry_if_erased, seq_before};
use crate::probe;
use crate::tenant::{Tenant, TenantContext};
use base::clock::Millis;
use base::error::{Error, Result};
use model::validate;
use store::{BatchLimits, Batcher, PendingAudit, Principal, Store, Transaction, transaction};

/// The most lookups of one batch.
const MENTIONS: usize = 256;

/// The rows of users, in the order asked for. Creates missing users. Errors about bad ids name `field`.
pub async fn find_or_create(
    store: &Store,
    tenant: &Tenant,
    field: &str,
    external_ids: &[String],
) -> Result<Vec<UserId>> {
    for id in external_ids {
        validate::identifier(field, id)?;
    }
    retry_if_erased(|| async {
        let mut known = find_existing(store, tenant, external_ids).await?;
        let missing: BTreeSet<&String> = external_ids.iter().filter(|id| !known.contains_key(*id)).collect();
        if !missing.is_empty() {
            let missing: Vec<String> = missing.into_iter().cloned().collect();
            create_users(store, tenant, &missing).await?;
            known.extend(find_existing(store, tenant, &missing).await?);
        }
        external_ids.iter().map(|id| known.get(id).copied().ok_or(Error::Erased)).collect()
    })
    .await
}

/// The row of one user, created at the first mention. Concurrent lookups share a batch.
pub async fn find_or_create_one(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    field: &str,
    external_id: &str,
) -> Result<UserId> {
    if let Some(id) = store.caches.users.get(&(tenant.id, tenant.erased_count(), external_id.to_owned())) {
        return Ok(id);
    }
    // Boxed, because every request's future contains this rare path.
    async {
        validate::identifier(field, external_id)?;
        match lookup_batcher(store, tenant)
            .submit(|| (store.clone(), tenant.clone()), vec![external_id.to_owned()])
            .await?
        {
            Some(user) => Ok(user),
            None => Ok(find_or_create(store, tenant, field, &[external_id.to_owned()]).await?[0]),
        }
    }
    .boxed()
    .await
}

/// The batcher of a tenant's user lookups.
type UserLookupBatcher = Batcher<TenantContext, String, Option<UserId>>;

fn lookup_batcher(store: &Store, tenant: &Tenant) -> Arc<UserLookupBatcher> {
    tenant.queues.get_or_create(|| {
        let bounds = BatchLimits::for_reads(store.config.database.connections, MENTIONS);
        UserLookupBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| look_up_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    })
}

/// The first user of each job, if it exists.
async fn look_up_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<String>],
) -> Result<Vec<Result<Option<UserId>>>> {
    let ids: Vec<String> = jobs.iter().flatten().cloned().collect();
    let known = find_existing(store, tenant, &ids).await?;
    Ok(jobs.iter().map(|job| Ok(job.iter().find_map(|id| known.get(id).copied()))).collect())
}

/// The rows of those users that exist.
pub async fn find_existing(store: &Store, tenant: &Tenant, external_ids: &[String]) -> Result<HashMap<String, UserId>> {
    // Read before the query, so that a user erased meanwhile is not cached beyond the erasure.
    let erased_count = tenant.erased_count();
    let mut known = HashMap::with_capacity(external_ids.len());
    let mut unknown = Vec::new();
    for id in external_ids {
        match store.caches.users.get(&(tenant.id, erased_count, id.clone())) {
            Some(user) => drop(known.insert(id.clone(), user)),
            None => unknown.push(id.clone()),
        }
    }
    for (id, user) in read_ids(&store.db.read, tenant, &unknown).await? {
        store.caches.users.insert((tenant.id, erased_count, id.clone()), user);
        known.insert(id, user);
    }
    Ok(known)
}

/// An existing user.
#[derive(FromQueryResult)]
struct ExternalIdRow {
    external_id: String,
    id: UserId,
}

async fn read_ids(db: &impl ConnectionTrait, tenant: &Tenant, ids: &[String]) -> Result<HashMap<String, UserId>> {
    let mut known = HashMap::with_capacity(ids.len());
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for ids in ids.chunks(LIST) {
        // A probe of `users_external_id` for each.
        let of = probe::select_by_text(db, tenant, "users", ("external_id", "n.external_id, n.id"), ids);
        known.extend(of.fetch_by_name::<ExternalIdRow>(db).await?.into_iter().map(|of| (of.external_id, of.id)));
    }
    Ok(known)
}

/// How far back the inbox of a new user reaches.
#[derive(Clone, Copy, Debug)]
pub struct InboxStart {
    /// To publications at this time.
    pub from: Millis,
    /// In any case to this seq.
    pub before: Seq,
}

async fn create_users(store: &Store, tenant: &Tenant, external_ids: &[String]) -> Result<()> {
    let now = store.now();
    let window = InboxStart { from: now - store.config.retention_millis(), before: Seq(i64::MAX) };
    let making =
        async { transaction!(store.db, |txn| create_users_within(txn, tenant, external_ids, window, now).await) };
    PendingAudit::without_audit(making).await
}

/// The inbox of a new user reaches back over the retention window: the cursor is before the window's first entry.
async fn create_users_within(
    txn: &Transaction,
    tenant: &Tenant,
    ids: &[String],
    window: InboxStart,
    now: Millis,
) -> Result<()> {
    let cursor = seq_before(txn, tenant, window.from).await?.min(window.before.0 - 1);
    let columns = [Column::TenantId, Column::ExternalId, Column::CursorSeq, Column::CreatedAt];
    let rows = ids.iter().map(|id| [tenant.id.into(), id.clone().into(), cursor.into(), now.into()]).collect();
    insert(txn, columns, rows, ExistingRows::Kept).await?;
    Ok(())
}

/// The rows of users, in the order asked for. Creates missing users. The transaction has written to the tenant's row,
/// so no user can be erased before it ends.
pub async fn find_or_create_within(
    txn: &Transaction,
    tenant: &Tenant,
    external_ids: &[String],
    window: InboxStart,
    now: Millis,
) -> Result<Vec<UserId>> {
    let mut known = read_ids(txn, tenant, external_ids).await?;
    let missing: Vec<String> = external_ids.iter().filter(|id| !known.contains_key(*id)).cloned().collect();
    if !missing.is_empty() {
        create_users_within(txn, tenant, &missing, window, now).await?;
        known.extend(read_ids(txn, tenant, &missing).await?);
    }
    external_ids.iter().map(|id| known.get(id).copied().ok_or(Error::Erased)).collect()
}

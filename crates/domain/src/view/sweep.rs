//! Deletes views that were untouched for a year, and idempotency keys past the retention window.

use entity::activity_key::{self, Entity as ActivityKey};
use entity::ids::{TenantId, ViewId};
use entity::prelude::*;
use entity::view::{Column, Entity as View};
use entity::view_visit::{self, Entity as Visit};

use super::TOUCH;
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
use store::{Store, Transaction, transaction};

/// How long a view is kept without an activity, a visit or a new member, in milliseconds: a year.
const UNTOUCHED: Millis = 365 * 24 * 60 * 60 * 1000;

/// Views of one batch, each with all its visits and keys.
const VIEWS: u64 = 100;

/// Keys of one batch. There are more only if they were used in the same millisecond.
const KEYS: u64 = 5000;

/// Deletes, for all tenants, a batch of views that were untouched for a year, with their visits and keys, and a batch
/// of keys used before the retention window. Returns how many views and keys; call it until it is 0.
///
/// Each batch is a transaction of its own. Safe while others read and write, and on several nodes at once.
pub async fn sweep(store: &Store) -> Result<u64> {
    let now = store.now();
    let views = transaction!(store.db, |txn| sweep_views(txn, now - UNTOUCHED - TOUCH).await)?;
    let keys = transaction!(store.db, |txn| sweep_keys(txn, now - store.config.retention_millis()).await)?;
    Ok(views.len() as u64 + keys)
}

/// Candidates come from `view_touched_at`. Each is checked again under the lock: it may have been touched since.
async fn sweep_views(txn: &Transaction, before: Millis) -> Result<Vec<(TenantId, ViewId)>> {
    let untouched = View::find().filter(Column::TouchedAt.lt(before)).order_by_asc(Column::TouchedAt).limit(VIEWS);
    let candidates: Vec<ViewId> = untouched.select_only().column(Column::Id).into_tuple().all(txn).await?;
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let gone = View::find().filter(Column::Id.is_in_list(txn, &candidates)).filter(Column::TouchedAt.lt(before));
    let gone = gone.order_by_asc(Column::Code).order_by_asc(Column::Id).for_update(txn);
    let gone = gone.select_only().columns([Column::TenantId, Column::Id]);
    let gone: Vec<(TenantId, ViewId)> = gone.into_tuple().all(txn).await?;
    let views: Vec<ViewId> = gone.iter().map(|(_, view)| *view).collect();
    Visit::delete_many().filter(view_visit::Column::ViewId.is_in_list(txn, &views)).exec(txn).await?;
    ActivityKey::delete_many().filter(activity_key::Column::ViewId.is_in_list(txn, &views)).exec(txn).await?;
    View::delete_many().filter(Column::Id.is_in_list(txn, &views)).exec(txn).await?;
    for &(tenant, view) in &gone {
        txn.notify(Notice { views: vec![view], ..Notice::for_tenant(tenant) });
    }
    Ok(gone)
}

/// A range of `activity_key_created_at`, up to the end of the batch.
async fn sweep_keys(txn: &Transaction, before: Millis) -> Result<u64> {
    let old = ActivityKey::find().filter(activity_key::Column::CreatedAt.lt(before));
    let old = old.select_only().column(activity_key::Column::CreatedAt).order_by_asc(activity_key::Column::CreatedAt);
    let end: Option<Millis> = old.offset(KEYS - 1).into_tuple().one(txn).await?;
    let end = activity_key::Column::CreatedAt.lte(end.unwrap_or(before - 1));
    Ok(ActivityKey::delete_many().filter(end).exec(txn).await?.rows_affected)
}

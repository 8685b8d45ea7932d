//! Reads the batches of `item.read` webhooks.

use std::collections::{BTreeSet, HashMap};

use entity::ids::{Seq, UserId};
use entity::notification::{Column as Sent, Entity as Notifications};
use entity::prelude::*;
use entity::webhook_batch::{Column, Entity as Batches};

use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use domain::user;
use store::{Store, transaction};

/// One user has read one notification.
#[derive(Debug)]
pub(super) struct ReadReceipt {
    pub notification: i64,
    /// The backend's own id of the user.
    pub user: String,
    pub at: Millis,
}

/// Batches by id, without erased users and deleted notifications. Leaves out empty batches.
pub(super) async fn load_batches(
    store: &Store,
    tenant: &Tenant,
    ids: &[i64],
) -> Result<HashMap<i64, Vec<ReadReceipt>>> {
    let db = &store.db.read;
    let rows = Batches::of_tenant(tenant.id).filter(Column::Id.is_in_list(db, ids)).select_only();
    let rows = rows.columns([Column::Id, Column::Items]).into_tuple::<(i64, String)>().all(db).await?;
    let batches = rows.into_iter().map(|(id, items)| Ok((id, serde_json::from_str(&items).map_err(Error::internal)?)));
    let batches = batches.collect::<Result<Vec<(i64, Vec<(UserId, Seq, Millis)>)>>>()?;
    let items = || batches.iter().flat_map(|(_, items)| items);
    let users: BTreeSet<UserId> = items().map(|(user, ..)| *user).collect();
    let users = user::load_profiles(store, tenant, &Vec::from_iter(users)).await?;
    let seqs: BTreeSet<Seq> = items().map(|(_, seq, _)| *seq).collect();
    let mut sent: HashMap<Seq, i64> = HashMap::with_capacity(seqs.len());
    for seqs in Vec::from_iter(seqs).chunks(LIST) {
        let some = Notifications::of_tenant(tenant.id).filter(Sent::Seq.is_in_list(db, seqs)).select_only();
        sent.extend(some.columns([Sent::Seq, Sent::Id]).into_tuple::<(Seq, i64)>().all(db).await?);
    }
    let one = |(user, seq, at): &(UserId, Seq, Millis)| {
        let user = users.get(user)?.external_id.clone();
        Some(ReadReceipt { notification: *sent.get(seq)?, user, at: *at })
    };
    let read = |(id, items): &(i64, Vec<_>)| (*id, items.iter().filter_map(one).collect::<Vec<_>>());
    Ok(batches.iter().map(read).filter(|(_, read)| !read.is_empty()).collect())
}

/// Deletes a tenant's batches that were created before `before`, in steps, like their deliveries.
pub async fn delete_old_batches(store: &Store, tenant: &Tenant, before: Millis) -> Result<()> {
    loop {
        let many = transaction!(store.db, |txn| {
            let first = Batches::of_tenant(tenant.id).order_by_asc(Column::Id).limit(LIST as u64).select_only();
            let first = first.columns([Column::Id, Column::CreatedAt]).into_tuple::<(i64, Millis)>().all(txn).await?;
            let old = first.iter().take_while(|(_, created_at)| *created_at < before);
            let old: Vec<i64> = old.map(|(id, _)| *id).collect();
            Ok(Batches::delete_many().filter(Column::Id.is_in_list(txn, &old)).exec(txn).await?.rows_affected)
        })?;
        if many < LIST as u64 {
            return Ok(());
        }
    }
}

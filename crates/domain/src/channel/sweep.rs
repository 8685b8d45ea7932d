//! Deletes unused channels: those without listeners and without retained publications.

use entity::channel::{Column, Entity as Channel};
use entity::ids::ChannelId;
use entity::prelude::*;

use super::{ChannelKind, queries};
use crate::tenant::Tenant;
use base::error::Result;
use store::{Store, Transaction, transaction};

/// Deletes a tenant's unused channels of targets, users and deleted groups, in transactions of at most 1,000. Returns
/// how many. The next subscription creates the channel again.
///
/// Safe while users subscribe: they hold a lock on the channel's row (`open_channels`), and the sweep checks each
/// channel again once it has the lock.
pub async fn sweep(store: &Store, tenant: &Tenant) -> Result<u64> {
    let mut swept = 0;
    for kind in [ChannelKind::Target, ChannelKind::Actor, ChannelKind::Deleted] {
        let mut after = Some(String::new());
        while let Some(code) = after {
            let (last, unused) = next_unused(store, tenant, kind, &code).await?;
            if !unused.is_empty() {
                swept += transaction!(store.db, |txn| lock_and_delete(txn, &unused).await)?;
            }
            after = last;
        }
    }
    Ok(swept)
}

/// The unused ones of the next 1,000 channels of a kind after a code, and the code to go on after.
async fn next_unused(
    store: &Store,
    tenant: &Tenant,
    kind: ChannelKind,
    after: &str,
) -> Result<(Option<String>, Vec<ChannelId>)> {
    let next = queries::next_candidates(&store.db.read, tenant, kind, after).await?;
    let unused = next.iter().filter(|channel| channel.is_unused == 1).map(|channel| channel.id).collect();
    let last = next.into_iter().nth(LIST - 1).map(|channel| channel.code);
    Ok((last, unused))
}

async fn lock_and_delete(txn: &Transaction, channels: &[ChannelId]) -> Result<u64> {
    let held = Channel::find().filter(Column::Id.is_in_list(txn, channels)).order_by_asc(Column::Id);
    held.for_update(txn).all(txn).await?;
    queries::delete_unused(txn, channels).await
}

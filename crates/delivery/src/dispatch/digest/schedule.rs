//! Schedules digests.

use std::collections::{BTreeMap, HashMap};

use entity::digest::{Column, Entity as Digests, Model};
use entity::dispatch;
use entity::ids::UserId;
use entity::prelude::*;

use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use domain::user::lock_users;
use store::Transaction;

/// Schedules digests for at most 500 users; a user may occur twice. Skips users with a last digest that covers this
/// publication, or with a next one no later. [`Erased`](base::error::Error::Erased) if a user was erased.
pub async fn schedule_digests(
    txn: &Transaction,
    tenant: &Tenant,
    of: &dispatch::Model,
    at: &[(UserId, Millis)],
) -> Result<()> {
    if at.is_empty() {
        return Ok(());
    }
    let at: BTreeMap<UserId, Millis> = at.iter().copied().collect();
    let users: Vec<UserId> = at.keys().copied().collect();
    lock_users(txn, tenant, &users).await?;
    let known = Digests::of_tenant(tenant.id).filter(Column::LaneId.eq(of.lane_id));
    let known = known.filter(Column::UserId.is_in_list(txn, &users)).all(txn).await?;
    let known: HashMap<UserId, Model> = known.into_iter().map(|row| (row.user_id, row)).collect();
    let is_news = |(user, at): &(UserId, Millis)| {
        let is_told = |row: &Model| row.upto_seq >= of.seq || row.next_at.is_some_and(|next| next <= *at);
        !known.get(user).is_some_and(is_told)
    };
    let row = |(user, at): (UserId, Millis)| [user.into(), of.lane_id.into(), tenant.id.into(), Some(at).into()];
    let columns = [Column::UserId, Column::LaneId, Column::TenantId, Column::NextAt];
    let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[3..] };
    insert(txn, columns, at.into_iter().filter(is_news).map(row).collect(), existing).await?;
    Ok(())
}

//! Digests: the unread items of an inbox in one letter, sent at the user's digest hour.
//!
//! An item for a digest only sets the time of the next digest in the user's row (`schedule_digests`). When that is due,
//! one transaction under the destination's lease inserts a delivery for each of the user's addresses and clears the
//! time (`make_deliveries`), so each digest exists once. Its content is read right before the attempt
//! (`prepare_digests`).

mod fan_out;
mod prepare;
mod queries;
mod schedule;

use entity::digest::{Column, Entity as Digests};
use entity::ids::UserId;
use entity::prelude::*;

use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
pub use fan_out::make_deliveries;
pub use prepare::{DigestContent, prepare_digests};
pub(super) use schedule::schedule_digests;
use store::{Store, Transaction, transaction};

/// When the destination's first digest is due: the beginning of a range of `digest_next_at`.
pub async fn first_due_at(txn: &Transaction, destination: i64) -> Result<Option<Millis>> {
    let first = Digests::find().filter(Column::LaneId.eq(destination)).filter(Column::NextAt.is_not_null());
    let first = first.order_by_asc(Column::NextAt).limit(1).select_only().column(Column::NextAt);
    Ok(first.into_tuple().one(txn).await?)
}

/// Deletes a destination's digest rows, in steps.
pub(super) async fn delete_rows(store: &Store, tenant: &Tenant, destination: i64) -> Result<()> {
    loop {
        let many = transaction!(store.db, |txn| {
            let of = Digests::of_tenant(tenant.id)
                .filter(Column::LaneId.eq(destination))
                .select_only()
                .column(Column::UserId);
            let users: Vec<UserId> = of.limit(LIST as u64).into_tuple().all(txn).await?;
            let gone = Digests::delete_of_tenant(tenant.id).filter(Column::LaneId.eq(destination));
            gone.filter(Column::UserId.is_in_list(txn, &users)).exec(txn).await?;
            Ok(users.len())
        })?;
        if many < LIST {
            return Ok(());
        }
    }
}

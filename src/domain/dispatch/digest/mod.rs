//! Digests: what an inbox holds unread at its user's hour, in one letter.
//!
//! An item for a digest writes nothing of its own: it wakes the row of its user (`wake`), which says when they are told next. When that is
//! due, the row becomes a delivery for each of their addresses and is asleep again (`make`), in one transaction under the lane's lease; so a
//! digest is there once. What is in it is read in the moment of the attempt (`prepare`).

mod make;
mod prepare;
mod statement;
mod wake;

use entity::digest::{Column, Entity as Digests};
use entity::ids::UserId;
use entity::prelude::*;

use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::error::Result;

pub use make::make;
pub use prepare::{Digest, prepare};
pub(super) use wake::wake;

/// When the first of a lane is due: the beginning of a range of `digest_next_at`.
pub async fn first_due(txn: &Transaction, lane: i64) -> Result<Option<Millis>> {
    let first = Digests::find().filter(Column::LaneId.eq(lane)).filter(Column::NextAt.is_not_null());
    let first = first.order_by_asc(Column::NextAt).limit(1).select_only().column(Column::NextAt);
    Ok(first.into_tuple().one(txn).await?)
}

/// Deletes those of a lane, in steps.
pub(super) async fn delete(app: &App, tenant: &Tenant, lane: i64) -> Result<()> {
    loop {
        let many = transaction!(app.db, |txn| {
            let of = Digests::of_tenant(tenant.id).filter(Column::LaneId.eq(lane)).select_only().column(Column::UserId);
            let users: Vec<UserId> = of.limit(LIST as u64).into_tuple().all(txn).await?;
            let gone = Digests::delete_of_tenant(tenant.id).filter(Column::LaneId.eq(lane));
            gone.filter(Column::UserId.among(txn, &users)).exec(txn).await?;
            Ok(users.len())
        })?;
        if many < LIST {
            return Ok(());
        }
    }
}

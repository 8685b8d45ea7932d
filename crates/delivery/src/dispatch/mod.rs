//! Deliveries to users' own addresses, over any kind of destination that reaches users.
//!
//! For each publication of a type with a delivery rule, `schedule_dispatches` writes a `dispatch`. When it is due,
//! `fan_out` syncs the inboxes that it may have reached, 500 at a time, and writes a delivery for each address of a
//! user who still has the item (unread, if the rule says so). `prepare_deliveries` checks this again right before the
//! attempt. Reading, retraction, expiry and preferences therefore need no code here: the inbox knows. Recipients of an
//! announcement to named users are kept in `recipient` until then.
//!
//! If the rule asks for digests, a due dispatch schedules its users' `digest` rows instead. Due digests
//! (`model::hours`) are made for 200 users at a time: one delivery per address, if there are unread items newer than
//! the last digest (`digest`).

mod address;
pub mod digest;
mod fan_out;
mod prepare;
mod queries;
mod schedule;

use entity::dispatch::{Column, Entity as Dispatches};
use entity::prelude::*;

use super::destination::{self, DestinationKind};
pub use address::record_results;
use base::error::Result;
use domain::tenant::Tenant;
pub use fan_out::fan_out;
pub use prepare::{DueItem, prepare_deliveries};
pub use queries::AddressedItem;
pub use schedule::{first_due_at, schedule_dispatches};
use store::{Store, transaction};

/// Deletes a destination that reaches users, with its deliveries, dispatches and digests. Returns whether it existed.
pub async fn delete_destination(store: &Store, tenant: &Tenant, kind: DestinationKind, id: i64) -> Result<bool> {
    let is_gone = destination::delete(store, tenant, kind, id).await?;
    transaction!(store.db, |txn| {
        Dispatches::delete_of_tenant(tenant.id).filter(Column::LaneId.eq(id)).exec(txn).await?;
        Ok(())
    })?;
    digest::delete_rows(store, tenant, id).await?;
    Ok(is_gone)
}

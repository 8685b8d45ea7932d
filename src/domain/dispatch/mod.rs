//! Deliveries to users' own addresses, over any destination that leads there.
//!
//! For each publication of a type with a delivery rule, `take` writes a `dispatch`. When it is due, `expand` syncs the inboxes that the
//! publication may have reached, 500 at a time, and writes a delivery for each address whose user still has the item, unread if the rule
//! says so. `prepare` checks the same again right before the attempt. Reading, retraction, expiry and preferences therefore need no code
//! here: the inbox knows. Recipients of an announcement to named users are kept in `recipient` until then.
//!
//! If the rule asks for digests, a due dispatch wakes its users' `digest` rows instead. When a digest is due (`model::hours`), 200 users are
//! synced, and each user with something unread and newer than the last digest gets one delivery per address (`digest`).

mod address;
pub mod digest;
mod expand;
mod prepare;
mod statement;
mod take;

use entity::dispatch::{Column, Entity as Dispatches};
use entity::prelude::*;

use super::lane::{self, Kind};
use super::tenant::Tenant;
use crate::app::App;
use crate::database::transaction;
use crate::error::Result;

pub use address::noted;
pub use expand::expand;
pub use prepare::{Due, prepare};
pub use statement::Standing;
pub use take::{first_due, take};

/// Deletes a lane to users with all that was to be sent, or was sent, along it. Returns whether there was one.
pub async fn delete(app: &App, tenant: &Tenant, kind: Kind, id: i64) -> Result<bool> {
    let is_gone = lane::delete(app, tenant, kind, id).await?;
    transaction!(app.db, |txn| {
        Dispatches::delete_of_tenant(tenant.id).filter(Column::LaneId.eq(id)).exec(txn).await?;
        Ok(())
    })?;
    digest::delete(app, tenant, id).await?;
    Ok(is_gone)
}

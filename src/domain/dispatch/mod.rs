//! What leaves inboxes for their users' addresses, by any kind of lane that leads there.
//!
//! A publication of a type with a rule is noted down when it comes by in the log (`take`); when it is due, the inboxes of whoever it may
//! have reached are synced, and it becomes a delivery for each of their addresses where it is still there, and still unread if the rule
//! says so (`expand`). The same is asked once more when it is sent (`prepare`). So what was read on the phone meanwhile, retracted or
//! expired needs nothing of its own here: the inbox knows. Whether somebody wants a type by a channel is asked in the same statement (`wants`).
//!
//! Where the rule says so, what is due wakes its users' digests instead, which tell all that is unread at an hour of theirs (`digest`).

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

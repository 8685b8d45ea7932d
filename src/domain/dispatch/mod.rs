//! What leaves inboxes for their users' addresses, by any kind of lane that leads there.
//!
//! A publication of a type with a rule is noted down when it comes by in the log (`take`); when it is due, the inboxes of whoever it may
//! have reached are synced, and it becomes a delivery for each of their addresses where it is still there, and still unread if the rule
//! says so (`expand`). The same is asked once more when it is sent (`prepare`). So what was read on the phone meanwhile, retracted or
//! expired needs nothing of its own here: the inbox knows. Whether somebody wants a type by a channel is asked in the same statement (`wants`).

mod address;
mod expand;
mod prepare;
mod statement;
mod take;

use entity::dispatch::{Column, Entity as Dispatches};
use entity::prelude::*;

use super::tenant::Tenant;
use crate::app::App;
use crate::database::transaction;
use crate::error::Result;

pub use address::noted;
pub use expand::expand;
pub use prepare::{Due, prepare};
pub use statement::Standing;
pub use take::{first_due, take};

/// Forgets what was to go out along a lane that is gone.
pub async fn forget(app: &App, tenant: &Tenant, lane: i64) -> Result<()> {
    transaction!(app.db, |txn| {
        Dispatches::delete_of_tenant(tenant.id).filter(Column::LaneId.eq(lane)).exec(txn).await?;
        Ok(())
    })
}

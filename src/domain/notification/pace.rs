//! How much a tenant sends, and what waits.

use entity::ids::Seq;
use entity::prelude::*;
use entity::tenant::{Column, Entity as Tenants};

use super::statement;
use crate::app::App;
use crate::clock::Millis;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::Result;

/// Scheduled notifications that are counted at the most.
const SCHEDULED: i64 = 10_000;

/// How much a tenant sends, and what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Entries of the log, of the last minute and of the last hour.
    pub last_minute: i64,
    pub last_hour: i64,
    /// What is scheduled, and whether that is all.
    pub scheduled: (i64, bool),
    /// When the next is due, or was; nothing where there is none, or not all were looked at.
    pub next_at: Option<Millis>,
}

/// Four statements, each a probe, but for the scheduled ones: a range of their key, of 10,000 at the most.
pub async fn pace(app: &App, tenant: &Tenant) -> Result<Pace> {
    let (db, now) = (&app.db.read, app.now());
    let (minute, hour) =
        (user::before(db, tenant, now - 60_000).await?, user::before(db, tenant, now - 3_600_000).await?);
    let end = Tenants::of_tenant(tenant.id).select_only().column(Column::LastSeq).into_tuple::<Seq>();
    let end = end.one(db).await?.unwrap_or_default().0;
    let waiting = statement::scheduled(db, tenant, SCHEDULED + 1).await?;
    let is_all = waiting.many <= SCHEDULED;
    Ok(Pace {
        last_minute: (end - minute).max(0),
        last_hour: (end - hour).max(0),
        scheduled: (waiting.many.min(SCHEDULED), is_all),
        next_at: waiting.next_at.filter(|_| is_all),
    })
}

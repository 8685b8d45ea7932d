//! A tenant's send rate, and its scheduled notifications.

use entity::ids::Seq;
use entity::prelude::*;
use entity::tenant::{Column, Entity as Tenants};

use super::queries;
use crate::tenant::Tenant;
use crate::user;
use base::clock::Millis;
use base::error::Result;
use store::Store;

/// The most scheduled notifications that are counted.
const SCHEDULED: i64 = 10_000;

/// A tenant's send rate, and its scheduled notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRate {
    /// Log entries of the last minute and of the last hour.
    pub last_minute: i64,
    pub last_hour: i64,
    /// The number of scheduled notifications, and whether it is exact.
    pub scheduled: (i64, bool),
    /// When the next one is due, or was. `None` if there is none, or if the number is not exact.
    pub next_at: Option<Millis>,
}

/// Four statements, each a probe, except the scheduled ones: a range of their key, of about 10,000 rows at most.
pub async fn load_send_rate(store: &Store, tenant: &Tenant) -> Result<SendRate> {
    let (db, now) = (&store.db.read, store.now());
    let (minute, hour) =
        (user::seq_before(db, tenant, now - 60_000).await?, user::seq_before(db, tenant, now - 3_600_000).await?);
    let end = Tenants::of_tenant(tenant.id).select_only().column(Column::LastSeq).into_tuple::<Seq>();
    let end = end.one(db).await?.unwrap_or_default().0;
    let waiting = queries::count_scheduled(db, tenant, SCHEDULED + 1).await?;
    let is_all = waiting.many <= SCHEDULED;
    Ok(SendRate {
        last_minute: (end - minute).max(0),
        last_hour: (end - hour).max(0),
        scheduled: (waiting.many.min(SCHEDULED), is_all),
        next_at: waiting.next_at.filter(|_| is_all),
    })
}

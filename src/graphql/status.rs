//! How a tenant's service does now.

use async_graphql::{Context, Object, Result, SimpleObject};

use super::context::{ADMIN, Call};
use super::overview::Count;
use super::scalars::{Instant, int};
use crate::app::VERSION;
use crate::domain::notification;

/// How the service does for a tenant now. Figures of all tenants together are the operators' alone (`/metrics`).
#[derive(SimpleObject)]
pub struct ServiceStatus {
    /// Which Tidings answers.
    pub version: &'static str,
    /// What time it is for it.
    pub now: Instant,
    /// Whether the database takes what is written, and the clocks of this node and of the database agree, without which nothing that is
    /// due is published.
    pub healthy: bool,
    /// Sockets and event streams of the tenant's that are open on the node that answers. There may be other nodes.
    pub session_count: i32,
    /// What was published and amended within the last minute.
    pub sent_last_minute: i32,
    /// The same of the last hour.
    pub sent_last_hour: i32,
    /// What waits for its `publishAt`; 10,000 are counted at the most.
    pub scheduled: Count,
    /// When the next of these is due, or has been since; null where none is, or where not all were counted.
    pub next_scheduled_at: Option<Instant>,
    /// For how many seconds the longest overdue of them has been due: a second or two where all is well, and 0 where none is.
    pub overdue_seconds: i32,
}

#[derive(Default)]
pub struct StatusQuery;

#[Object]
impl StatusQuery {
    /// How the service does for the token's tenant now; cheap enough to be asked every few seconds. What goes to the outside tells it by itself
    /// (`webhookEndpoints`, `mailRelay`, `weChatAccount`, `webPush`). ADMIN.
    async fn service_status(&self, ctx: &Context<'_>) -> Result<ServiceStatus> {
        let call = Call::by(ctx, ADMIN)?;
        let (app, tenant) = (call.app, call.tenant);
        let pace = notification::pace(app, tenant).await?;
        let now = app.now();
        let (scheduled, is_all) = pace.scheduled;
        Ok(ServiceStatus {
            version: VERSION,
            now: now.into(),
            healthy: app.db.ailment().is_none() && !app.agreed.is_in_doubt(),
            session_count: int(app.connected.of(tenant.id)),
            sent_last_minute: int(pace.last_minute),
            sent_last_hour: int(pace.last_hour),
            scheduled: Count { count: int(scheduled), exact: is_all },
            next_scheduled_at: pace.next_at.map(Into::into),
            overdue_seconds: int(pace.next_at.map_or(0, |at| (now - at).max(0) / 1000)),
        })
    }
}

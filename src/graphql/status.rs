//! How a tenant's service does now.

use async_graphql::{Context, Object, Result, SimpleObject};

use super::context::{ADMIN, Call};
use super::overview::Count;
use super::scalars::{Instant, int};
use crate::app::VERSION;
use crate::clock::Millis;
use crate::domain::notification;
use crate::hub::About;
use crate::telemetry::pulse::Doing;

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
    /// Sockets and event streams of the tenant's that are open on the node that answers; `nodes` tells of the others.
    pub session_count: i32,
    /// The node that answers first, and then the others of which was heard on the bus within the last minute.
    pub nodes: Vec<ServiceNode>,
    /// Null where there is none: on SQLite, and on MySQL without Redis.
    pub bus: Option<ServiceBus>,
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

/// A process of Tidings over the same database, and what the tenant does there. Of others than the one that answers that is told from a second
/// after it was asked for first, for as long as somebody asks every few seconds: until then it is null.
#[derive(SimpleObject)]
pub struct ServiceNode {
    /// What its machine calls itself, where it does.
    pub name: Option<String>,
    /// Which Tidings it is.
    pub version: String,
    /// When it was started.
    pub started_at: Instant,
    /// When it was last heard on the bus; now for the one that answers. One that ended is listed for a minute.
    pub heard_at: Instant,
    /// Sockets and event streams that are open.
    pub session_count: Option<i32>,
    /// Inboxes that something was put into, or that were moved on in the log, within the last minute.
    pub syncs_last_minute: Option<i32>,
    /// Requests that failed within it as `INTERNAL` or `UNAVAILABLE`.
    pub errors_last_minute: Option<i32>,
}

impl ServiceNode {
    fn of(about: About, heard_at: Millis, doing: Option<Doing>) -> Self {
        let About { name, version, started_at } = about;
        Self {
            name,
            version,
            started_at: started_at.into(),
            heard_at: heard_at.into(),
            session_count: doing.map(|of| int(of.sessions)),
            syncs_last_minute: doing.map(|of| int(of.syncs)),
            errors_last_minute: doing.map(|of| int(of.errors)),
        }
    }
}

/// By which nodes tell each other that there is news. Without it sessions are late by up to a second.
#[derive(SimpleObject)]
pub struct ServiceBus {
    /// Whether the node that answers hears the others, and is heard.
    pub connected: bool,
    /// For how many seconds its newest message was on the way there and back.
    pub lag_seconds: f64,
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
        let doing = app.pulse.of(tenant.id);
        let mut nodes = vec![ServiceNode::of(app.hub.about().clone(), now, Some(doing))];
        nodes.extend(app.hub.peers(tenant.id).into_iter().map(|of| {
            let silent_for = i64::try_from(of.silent_for.as_millis()).unwrap_or(i64::MAX);
            ServiceNode::of(of.about, now.saturating_sub(silent_for), of.doing)
        }));
        let bus = app.hub.has_bus().then(|| ServiceBus {
            connected: app.metrics.bus_connected.get() == 1,
            lag_seconds: app.metrics.bus_lag.get(),
        });
        Ok(ServiceStatus {
            version: VERSION,
            now: now.into(),
            healthy: app.db.ailment().is_none() && !app.agreed.is_in_doubt(),
            session_count: int(doing.sessions),
            nodes,
            bus,
            sent_last_minute: int(pace.last_minute),
            sent_last_hour: int(pace.last_hour),
            scheduled: Count { count: int(scheduled), exact: is_all },
            next_scheduled_at: pace.next_at.map(Into::into),
            overdue_seconds: int(pace.next_at.map_or(0, |at| (now - at).max(0) / 1000)),
        })
    }
}

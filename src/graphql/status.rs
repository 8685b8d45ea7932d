//! The state of a tenant's service.

use async_graphql::{Context, Object, Result, SimpleObject};

use super::context::{ADMIN, CallContext};
use super::overview::CappedCount;
use super::scalars::{DateTimeScalar, to_int};
use base::clock::Millis;
use base::telemetry::activity::TenantActivity;
use cluster::hub::NodeInfo;
use domain::notification;
use store::VERSION;

/// The state of the service for a tenant. Figures of all tenants together are in `/metrics`.
#[derive(SimpleObject)]
pub struct ServiceStatus {
    /// Version of the node that answers.
    pub version: &'static str,
    /// The node's time.
    pub now: DateTimeScalar,
    /// Whether the database accepts writes, and the clocks of this node and the database agree. Otherwise nothing that
    /// is due is published.
    pub healthy: bool,
    /// The tenant's open WebSockets and event streams on the node that answers; `nodes` has the others.
    pub session_count: i32,
    /// The node that answers, then the others that were heard on the bus within the last minute.
    pub nodes: Vec<ServiceNode>,
    /// Null if there is no bus: on SQLite, and on MySQL without Redis.
    pub bus: Option<ServiceBus>,
    /// Notifications published and amended within the last minute.
    pub sent_last_minute: i32,
    /// The same for the last hour.
    pub sent_last_hour: i32,
    /// Notifications that wait for their `publishAt`, counted up to 10,000.
    pub scheduled: CappedCount,
    /// When the next of these is due, or became due; null if there is none, or if not all were counted.
    pub next_scheduled_at: Option<DateTimeScalar>,
    /// Seconds since the longest overdue of them became due: 0 if there is none, a second or two normally.
    pub overdue_seconds: i32,
}

/// A Tidings process over the same database, and the tenant's activity on it. For other nodes the activity is null at
/// first, and known a second after it was first asked for, while a caller asks every few seconds.
#[derive(SimpleObject)]
pub struct ServiceNode {
    /// The host name, if known.
    pub name: Option<String>,
    /// Its version.
    pub version: String,
    /// When it started.
    pub started_at: DateTimeScalar,
    /// When it was last heard on the bus; now for the node that answers. A node that ended is listed for a minute.
    pub heard_at: DateTimeScalar,
    /// Open WebSockets and event streams.
    pub session_count: Option<i32>,
    /// Inboxes that were synced within the last minute.
    pub syncs_last_minute: Option<i32>,
    /// Requests that failed as `INTERNAL` or `UNAVAILABLE` within the last minute.
    pub errors_last_minute: Option<i32>,
}

impl ServiceNode {
    fn from_parts(about: NodeInfo, heard_at: Millis, doing: Option<TenantActivity>) -> Self {
        let NodeInfo { name, version, started_at } = about;
        Self {
            name,
            version,
            started_at: started_at.into(),
            heard_at: heard_at.into(),
            session_count: doing.map(|of| to_int(of.sessions)),
            syncs_last_minute: doing.map(|of| to_int(of.syncs)),
            errors_last_minute: doing.map(|of| to_int(of.errors)),
        }
    }
}

/// The message bus of the nodes. Without it sessions are up to a second late.
#[derive(SimpleObject)]
pub struct ServiceBus {
    /// Whether the node that answers hears the others and is heard.
    pub connected: bool,
    /// Round trip of its newest message in seconds.
    pub lag_seconds: f64,
}

#[derive(Default)]
pub struct StatusQuery;

#[Object]
impl StatusQuery {
    /// The state of the service for the token's tenant. Cheap enough to be asked every few seconds. For destinations
    /// see `webhookEndpoints`, `mailRelay`, `weChatAccount` and `webPush`. ADMIN.
    async fn service_status(&self, ctx: &Context<'_>) -> Result<ServiceStatus> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let (app, tenant) = (call.app, call.tenant);
        let pace = notification::load_send_rate(app, tenant).await?;
        let now = app.now();
        let (scheduled, is_all) = pace.scheduled;
        let doing = app.activity.for_tenant(tenant.id);
        let mut nodes = vec![ServiceNode::from_parts(app.hub.this_node().clone(), now, Some(doing))];
        nodes.extend(app.hub.peers(tenant.id).into_iter().map(|of| {
            let silent_for = i64::try_from(of.silent_for.as_millis()).unwrap_or(i64::MAX);
            ServiceNode::from_parts(of.about, now.saturating_sub(silent_for), of.doing)
        }));
        let bus = app.hub.has_bus().then(|| ServiceBus {
            connected: app.metrics.bus_connected.get() == 1,
            lag_seconds: app.metrics.bus_lag.get(),
        });
        Ok(ServiceStatus {
            version: VERSION,
            now: now.into(),
            healthy: app.db.current_failure().is_none() && !app.shared_clock.is_in_doubt(),
            session_count: to_int(doing.sessions),
            nodes,
            bus,
            sent_last_minute: to_int(pace.last_minute),
            sent_last_hour: to_int(pace.last_hour),
            scheduled: CappedCount { count: to_int(scheduled), exact: is_all },
            next_scheduled_at: pace.next_at.map(Into::into),
            overdue_seconds: to_int(pace.next_at.map_or(0, |at| (now - at).max(0) / 1000)),
        })
    }
}

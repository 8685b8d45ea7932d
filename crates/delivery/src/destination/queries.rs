//! Raw SQL about destinations.

use entity::delivery::{DeliveryEvent, DeliveryState};
use entity::destination::{DestinationKind, DestinationState};
use entity::ids::TenantId;
use entity::prelude::*;

use super::lease::LEASE;
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use store::SqlBuilder;

/// A destination with work to do that no node works on.
#[derive(FromQueryResult)]
pub struct DueDestination {
    pub id: i64,
    pub tenant_id: TenantId,
    pub kind: DestinationKind,
}

/// Destinations with work to do that no node works on, of these tenants or of all; the longest due first. Scans all
/// destinations with a probe of `tenant`'s key for each, or the given tenants' ranges of `lane_tenant`.
pub async fn find_due(
    db: &impl ConnectionTrait,
    of: Option<&[TenantId]>,
    now: Millis,
    most: u64,
) -> Result<Vec<DueDestination>> {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT e.id, e.tenant_id, e.kind FROM lane e JOIN tenant t ON t.id = e.tenant_id WHERE e.state = ");
    sql.push(&(DestinationState::Active as i16).to_string()).push(" AND e.open_until <= ").bind(now);
    sql.push(" AND (e.lease_until <= ").bind(now).push(" OR e.lease_until > ").bind(now + 2 * LEASE);
    sql.push(") AND (e.due_at <= ").bind(now).push(" OR e.cursor_seq <> t.last_seq)");
    if let Some(tenants) = of {
        sql.push(" AND e.tenant_id").push_list(tenants);
    }
    sql.push(" ORDER BY COALESCE(e.due_at, 0), e.id LIMIT ").bind(most);
    sql.fetch_by_name(db).await
}

/// How many destinations have this kind, state, and failing or not.
#[derive(FromQueryResult)]
pub(super) struct DestinationCount {
    pub kind: DestinationKind,
    pub state: DestinationState,
    pub is_failing: i32,
    pub many: i64,
}

/// Counts all destinations.
pub(super) async fn count_destinations(db: &impl ConnectionTrait) -> Result<Vec<DestinationCount>> {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT kind, state, CASE WHEN failing_since IS NULL THEN 0 ELSE 1 END AS is_failing, COUNT(*) AS many ");
    sql.push("FROM lane GROUP BY kind, state, CASE WHEN failing_since IS NULL THEN 0 ELSE 1 END");
    sql.fetch_by_name(db).await
}

/// How many deliveries of a notification have this kind of destination and this state.
#[derive(FromQueryResult)]
pub(super) struct NotificationDeliveryCount {
    pub notification: i64,
    pub kind: DestinationKind,
    pub state: DeliveryState,
    pub many: i64,
}

/// Counts the deliveries of notifications: ranges of `delivery_subject`, which covers the query, and a probe of
/// `destination`'s key for each delivery.
pub(super) async fn count_notification_deliveries(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    notifications: &[i64],
) -> Result<Vec<NotificationDeliveryCount>> {
    let events = DeliveryEvent::OF_NOTIFICATIONS.map(|event| (event as i16).to_string()).join(", ");
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT d.subject_id AS notification, e.kind, d.state, COUNT(*) AS many FROM delivery d ");
    sql.push("JOIN lane e ON e.id = d.lane_id WHERE d.tenant_id = ").bind(tenant.id);
    sql.push(" AND d.subject_id").push_list(notifications).push(&format!(" AND d.event IN ({events})"));
    sql.push(" GROUP BY d.subject_id, e.kind, d.state");
    sql.fetch_by_name(db).await
}

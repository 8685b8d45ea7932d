//! Raw SQL about destinations.

use entity::delivery::{Event, State as DeliveryState};
use entity::ids::TenantId;
use entity::lane::{Kind, State};
use entity::prelude::*;

use super::lease::LEASE;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// A destination with work to do that no node works on.
#[derive(FromQueryResult)]
pub struct Waiting {
    pub id: i64,
    pub tenant_id: TenantId,
    pub kind: Kind,
}

/// Destinations with work to do that no node works on, of these tenants or of all; the longest due first. Scans all
/// destinations with a probe of `tenant`'s key for each, or the given tenants' ranges of `lane_tenant`.
pub async fn waiting(
    db: &impl ConnectionTrait,
    of: Option<&[TenantId]>,
    now: Millis,
    most: u64,
) -> Result<Vec<Waiting>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT e.id, e.tenant_id, e.kind FROM lane e JOIN tenant t ON t.id = e.tenant_id WHERE e.state = ");
    sql.push(&(State::Active as i16).to_string()).push(" AND e.open_until <= ").bind(now);
    sql.push(" AND (e.lease_until <= ").bind(now).push(" OR e.lease_until > ").bind(now + 2 * LEASE);
    sql.push(") AND (e.due_at <= ").bind(now).push(" OR e.cursor_seq <> t.last_seq)");
    if let Some(tenants) = of {
        sql.push(" AND e.tenant_id").among(tenants);
    }
    sql.push(" ORDER BY COALESCE(e.due_at, 0), e.id LIMIT ").bind(most);
    sql.rows(db).await
}

/// How many destinations have this kind, state, and failing or not.
#[derive(FromQueryResult)]
pub(super) struct Counted {
    pub kind: Kind,
    pub state: State,
    pub is_failing: i32,
    pub many: i64,
}

/// Counts all destinations.
pub(super) async fn counted(db: &impl ConnectionTrait) -> Result<Vec<Counted>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT kind, state, CASE WHEN failing_since IS NULL THEN 0 ELSE 1 END AS is_failing, COUNT(*) AS many ");
    sql.push("FROM lane GROUP BY kind, state, CASE WHEN failing_since IS NULL THEN 0 ELSE 1 END");
    sql.rows(db).await
}

/// How many deliveries of a notification have this kind of destination and this state.
#[derive(FromQueryResult)]
pub(super) struct OfNotification {
    pub notification: i64,
    pub kind: Kind,
    pub state: DeliveryState,
    pub many: i64,
}

/// Counts the deliveries of notifications: ranges of `delivery_subject`, which covers the query, and a probe of
/// `lane`'s key for each delivery.
pub(super) async fn of_notifications(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    notifications: &[i64],
) -> Result<Vec<OfNotification>> {
    let events = Event::OF_NOTIFICATIONS.map(|event| (event as i16).to_string()).join(", ");
    let mut sql = Sql::new(db);
    sql.push("SELECT d.subject_id AS notification, e.kind, d.state, COUNT(*) AS many FROM delivery d ");
    sql.push("JOIN lane e ON e.id = d.lane_id WHERE d.tenant_id = ").bind(tenant.id);
    sql.push(" AND d.subject_id").among(notifications).push(&format!(" AND d.event IN ({events})"));
    sql.push(" GROUP BY d.subject_id, e.kind, d.state");
    sql.rows(db).await
}

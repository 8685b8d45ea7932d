//! Hand-written statements about views, for many users or views at once.

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use sea_orm::DbBackend;

use super::{MemberPosition, ViewKey, ViewRow, VisitState};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::{SqlBuilder, Store, Transaction};

/// The columns of a view `v`, with the prefix `row_`.
const ROW: &str = "v.id AS row_id, v.code AS row_key_code, v.external_id AS row_key_id, v.position AS row_position, \
    v.last_activity_at AS row_last_activity_at, v.latest AS row_latest, v.touched_at AS row_touched_at";

/// A view in a user's list.
#[derive(FromQueryResult)]
pub(super) struct ListedView {
    pub user_id: UserId,
    #[sea_orm(nested(prefix = "row_"))]
    pub row: ViewRow,
    #[sea_orm(nested(prefix = "visit_"))]
    pub visit: VisitState,
}

/// A view of a user with its rank among theirs.
#[derive(FromQueryResult)]
pub(super) struct RankedView {
    place: i64,
    /// Unread in all of the user's views.
    pub total: i64,
    #[sea_orm(nested)]
    pub listed: ListedView,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewFilter {
    All,
    Unread,
}

/// The most recently active views of each user, newest first: a range of `view_visit`'s key for each user, a probe of
/// `view`'s for each of their visits, and another for those that are shown. The cost depends on the number of their
/// views, not on their contents.
///
/// The users' ids are constants, because MySQL needs that. The sorted rows contain no text.
pub(super) async fn load_newest(
    store: &Store,
    users: &[UserId],
    first: usize,
    which: ViewFilter,
) -> Result<Vec<RankedView>> {
    let mut sql = SqlBuilder::new(&store.db.read);
    let integer = if sql.backend() == DbBackend::MySql { "SIGNED" } else { "BIGINT" };
    sql.push("SELECT ").push(ROW);
    sql.push(", x.user_id, x.position AS visit_position, x.visited_at AS visit_visited_at, x.place, x.total FROM (");
    sql.push("SELECT m.user_id, m.view_id, m.position, m.visited_at, ");
    sql.push("ROW_NUMBER() OVER (PARTITION BY m.user_id ORDER BY COALESCE(a.last_activity_at, 0) DESC, a.id DESC) ");
    sql.push("AS place, CAST(SUM(a.position - m.position) OVER (PARTITION BY m.user_id) AS ").push(integer);
    sql.push(") AS total FROM view_visit m");
    push_view(&mut sql, "a", "m.view_id");
    sql.push(" WHERE m.user_id").push_list(users);
    if which == ViewFilter::Unread {
        sql.push(" AND a.position > m.position");
    }
    sql.push(") x");
    push_view(&mut sql, "v", "x.view_id");
    sql.push(" WHERE x.place <= ").bind(i64::try_from(first).unwrap_or(i64::MAX));
    let mut newest: Vec<RankedView> = sql.fetch_by_name(&store.db.read).await?;
    newest.sort_by_key(|of| of.place);
    Ok(newest)
}

/// Joins a view by an id from an earlier table. PostgreSQL would rather hash tens of thousands of views than look up
/// two hundred; the LATERAL join makes it look up each.
fn push_view(sql: &mut SqlBuilder, alias: &str, id: &str) {
    if sql.backend() == DbBackend::Postgres {
        sql.push(&format!(" CROSS JOIN LATERAL (SELECT * FROM view WHERE view.id = {id} LIMIT 1) {alias}"));
    } else {
        sql.push(&format!(" JOIN view {alias} ON {alias}.id = {id}"));
    }
}

/// Views by their keys: probes of `view_external_id`, and of `view_visit`'s key for each user.
pub(super) async fn load_by_keys(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    keys: &[ViewKey],
) -> Result<Vec<ListedView>> {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push(ROW).push(", m.user_id, m.position AS visit_position, m.visited_at AS visit_visited_at ");
    sql.push("FROM view v JOIN view_visit m ON m.view_id = v.id AND m.user_id").push_list(users);
    sql.push(" WHERE v.tenant_id = ").bind(tenant.id).push(" AND ");
    let pairs: Vec<(Value, Value)> = keys.iter().map(|key| (key.code.clone().into(), key.id.clone().into())).collect();
    push_pairs(&mut sql, ("v.code", "v.external_id"), &pairs);
    sql.fetch_by_name(&store.db.read).await
}

/// A user's position in a view.
#[derive(FromQueryResult)]
pub(super) struct UserPositionRow {
    pub user_id: UserId,
    pub view_id: ViewId,
    #[sea_orm(nested)]
    pub standing: MemberPosition,
}

/// The views that users are members of: a range of `view_visit`'s key for each user, and a probe of `view`'s for each
/// of their views.
pub(super) async fn load_positions(store: &Store, users: &[UserId]) -> Result<Vec<UserPositionRow>> {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT m.user_id, m.view_id, m.joined_at, m.position AS visited, a.position FROM view_visit m");
    push_view(&mut sql, "a", "m.view_id");
    sql.push(" WHERE m.user_id").push_list(users);
    sql.fetch_by_name(&store.db.read).await
}

/// A view, or else a user's visit to it.
#[derive(FromQueryResult)]
pub(super) struct ViewOrVisit {
    pub row_id: ViewId,
    pub user_id: Option<UserId>,
    pub joined_at: Option<Millis>,
    #[sea_orm(nested(prefix = "row_"))]
    pub row: Option<ViewRow>,
    #[sea_orm(nested(prefix = "visit_"))]
    pub visit: Option<VisitState>,
}

/// Views, each once, and users' visits to them: a probe of `view_visit`'s key per pair.
pub(super) async fn load_views_and_visits(
    store: &Store,
    views: &[ViewId],
    users: &[UserId],
) -> Result<Vec<ViewOrVisit>> {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ")
        .push(ROW)
        .push(", NULL AS user_id, NULL AS joined_at, NULL AS visit_position, NULL AS visit_visited_at");
    sql.push(" FROM view v WHERE v.id").push_list(views);
    sql.push(" UNION ALL SELECT m.view_id, NULL, NULL, NULL, NULL, NULL, NULL, m.user_id, m.joined_at, m.position, m.visited_at");
    sql.push(" FROM view_visit m WHERE m.view_id").push_list(views).push(" AND m.user_id").push_list(users);
    sql.fetch_by_name(&store.db.read).await
}

/// A used idempotency key, with the fingerprint of its activity.
#[derive(FromQueryResult)]
pub(super) struct UsedKey {
    pub view_id: ViewId,
    pub idempotency_key: String,
    pub fingerprint: i64,
}

/// The pairs of a view and an idempotency key that were used: probes of `activity_key`'s key.
pub(super) async fn find_used_keys(txn: &Transaction, pairs: &[(Value, Value)]) -> Result<Vec<UsedKey>> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("SELECT k.view_id, k.idempotency_key, k.fingerprint FROM activity_key k WHERE ");
    push_pairs(&mut sql, ("k.view_id", "k.idempotency_key"), pairs);
    sql.fetch_by_name(txn).await
}

/// A user's visit to a view.
#[derive(FromQueryResult)]
pub(super) struct VisitRow {
    pub user_id: UserId,
    pub view_id: ViewId,
    #[sea_orm(nested)]
    pub visit: VisitState,
}

/// The visits of pairs of a user and a view: probes of `view_visit`'s key.
pub(super) async fn find_visits(txn: &Transaction, pairs: &[(Value, Value)]) -> Result<Vec<VisitRow>> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("SELECT m.user_id, m.view_id, m.position, m.visited_at FROM view_visit m WHERE ");
    push_pairs(&mut sql, ("m.user_id", "m.view_id"), pairs);
    sql.fetch_by_name(txn).await
}

/// Adds `(…)`: the condition that two columns hold one of the pairs. Each pair is a probe of an index over both. At
/// most 256, because SQLite limits nesting to 1,000. Padded like `SqlBuilder::push_list`. Without pairs, nothing
/// matches.
fn push_pairs(sql: &mut SqlBuilder, (first, second): (&str, &str), pairs: &[(Value, Value)]) {
    let Some(last) = pairs.last() else {
        sql.push("1 = 0");
        return;
    };
    debug_assert!(pairs.len() <= 256, "{} pairs", pairs.len());
    for place in 0..pairs.len().next_power_of_two() {
        let (one, other) = pairs.get(place).unwrap_or(last);
        sql.push(if place > 0 { " OR (" } else { "((" });
        sql.push(first).push(" = ").bind(one.clone()).push(" AND ");
        sql.push(second).push(" = ").bind(other.clone()).push(")");
    }
    sql.push(")");
}

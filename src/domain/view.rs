//! Views that read themselves: chats, feeds and news pages, whose items nobody marks one by one.
//!
//! A view counts its activities, and a member's visit remembers how far that count was when he last looked: what is
//! above it is unread. So an activity writes one row whatever the number of members, and an unread count is a
//! difference of two numbers.

mod activity;
mod list;
mod member;
mod sight;
mod sweep;

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use sea_orm::{ConnectionTrait, QueryResult, Value};

use super::check;
use super::tenant::Tenant;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

pub use activity::{Activity, record};
pub use list::{Listing, Unread, VIEWS, after, check_keys, of, unread_of};
pub use member::{By, join, leave, visit};
pub use sight::{PAIRS, Sight, Unseen, sights, unseen_by};
pub use sweep::sweep;

/// `view.touched_at` may lag by this much, in milliseconds: looking at a view writes to it once a day at the most.
const TOUCH: Millis = 24 * 60 * 60 * 1000;

/// A view as the partner calls it: 1 to 128 characters each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What kind of view it is: `chat`, `feed` …
    pub code: String,
    /// Which of its kind.
    pub id: String,
}

impl Key {
    fn check(&self) -> Result<()> {
        check::code("code", &self.code)?;
        check::code("id", &self.id)
    }

    fn missing(&self) -> Error {
        Error::not_found("view", format!("{}/{}", self.code, self.id))
    }
}

/// A view as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub key: Key,
    /// Activities since his last visit, or since he joined; 0 where it is nobody who sees it.
    pub unread: i64,
    /// Nothing where nothing has ever happened.
    pub last_activity_at: Option<Millis>,
    /// Nothing where he never looked.
    pub last_visited_at: Option<Millis>,
    /// What the latest activity carried.
    pub latest: Option<serde_json::Value>,
}

/// The row of a view.
#[derive(Clone, Debug)]
struct Row {
    id: ViewId,
    key: Key,
    position: i64,
    last_activity_at: Option<Millis>,
    latest: Option<String>,
    touched_at: Millis,
}

/// How far a user has seen a view.
#[derive(Clone, Copy, Debug)]
struct Visit {
    position: i64,
    visited_at: Option<Millis>,
}

impl Row {
    /// The columns that `read` wants, of a view `v`.
    const COLUMNS: &str = "v.id AS v_id, v.code AS v_code, v.external_id AS v_external_id, v.position AS v_position, \
        v.last_activity_at AS v_last_activity_at, v.latest AS v_latest, v.touched_at AS v_touched_at";

    fn read(row: &QueryResult) -> Result<Self> {
        Ok(Self {
            id: row.try_get("", "v_id")?,
            key: Key { code: row.try_get("", "v_code")?, id: row.try_get("", "v_external_id")? },
            position: row.try_get("", "v_position")?,
            last_activity_at: row.try_get("", "v_last_activity_at")?,
            latest: row.try_get("", "v_latest")?,
            touched_at: row.try_get("", "v_touched_at")?,
        })
    }

    fn seen(&self, visit: Option<Visit>) -> Result<View> {
        let latest = self.latest.as_deref().map(serde_json::from_str).transpose();
        Ok(View {
            key: self.key.clone(),
            unread: visit.map_or(0, |visit| (self.position - visit.position).max(0)),
            last_activity_at: self.last_activity_at,
            last_visited_at: visit.and_then(|visit| visit.visited_at),
            latest: latest.map_err(Error::internal)?,
        })
    }
}

impl Visit {
    /// The columns that `read` wants, of a visit `m`.
    const COLUMNS: &str = "m.position AS m_position, m.visited_at AS m_visited_at";

    fn read(row: &QueryResult) -> Result<Option<Self>> {
        let Some(position) = row.try_get("", "m_position")? else { return Ok(None) };
        Ok(Some(Self { position, visited_at: row.try_get("", "m_visited_at")? }))
    }
}

/// A view, and a user's visit to it if he is in it. Probes of `view_external_id` and of `view_visit`'s key.
async fn find(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    key: &Key,
    user: Option<UserId>,
) -> Result<Option<(Row, Option<Visit>)>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT ").push(Row::COLUMNS).push(", ").push(Visit::COLUMNS);
    sql.push(" FROM view v LEFT JOIN view_visit m ON m.view_id = v.id AND m.user_id = ");
    sql.bind(user.map_or(0, |user| user.0)).push(" WHERE v.tenant_id = ").bind(tenant.id);
    sql.push(" AND v.code = ").bind(key.code.clone()).push(" AND v.external_id = ").bind(key.id.clone());
    let Some(row) = sql.one(db).await? else { return Ok(None) };
    Ok(Some((Row::read(&row)?, Visit::read(&row)?)))
}

/// The rows of views, locked one after the other in the order of their codes and rows, making those that are missing.
async fn lock(txn: &Transaction, tenant: &Tenant, keys: &[Key], now: Millis) -> Result<HashMap<Key, Row>> {
    let mut by_code: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut keys: Vec<&Key> = keys.iter().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in &keys {
        match by_code.last_mut() {
            Some((code, ids)) if *code == key.code => ids.push(&key.id),
            _ => by_code.push((&key.code, vec![&key.id])),
        }
    }
    let mut rows = HashMap::with_capacity(keys.len());
    for (code, ids) in by_code {
        let found = lock_some(txn, tenant, code, &ids, &mut rows).await?;
        if found == ids.len() {
            continue;
        }
        let is_missing = |id: &&str| !rows.contains_key(&Key { code: code.into(), id: (*id).into() });
        let missing: Vec<&str> = ids.into_iter().filter(is_missing).collect();
        let row = |id: &&str| -> Vec<Value> { vec![tenant.id.into(), code.into(), (*id).into(), now.into()] };
        let columns = &["tenant_id", "code", "external_id", "touched_at"];
        let values = missing.iter().map(row).collect();
        insert(txn, Rows { table: "view", columns, values }, Existing::Kept).await?;
        if lock_some(txn, tenant, code, &missing, &mut rows).await? < missing.len() {
            return Err(Error::internal("a view vanished while being made"));
        }
    }
    Ok(rows)
}

/// Ranges of `view_external_id`. What is not there is not locked. Returns how many are.
async fn lock_some(
    txn: &Transaction,
    tenant: &Tenant,
    code: &str,
    ids: &[&str],
    rows: &mut HashMap<Key, Row>,
) -> Result<usize> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT ").push(Row::COLUMNS).push(" FROM view v WHERE v.tenant_id = ").bind(tenant.id);
    sql.push(" AND v.code = ").bind(code).push(" AND v.external_id").among(ids).push(" ORDER BY v.id").for_update();
    let found = sql.all(txn).await?;
    for row in &found {
        let row = Row::read(row)?;
        rows.insert(row.key.clone(), row);
    }
    Ok(found.len())
}

/// Adds ` AND (…)`: two columns hold one of the pairs. Each pair is a probe of an index over both; at most 256,
/// for SQLite nests no deeper than 1,000. Padded as `Sql::in_ids` is. No pair at all matches nothing.
fn push_pairs(sql: &mut Sql, (first, second): (&str, &str), pairs: &[(Value, Value)]) {
    let Some(last) = pairs.last() else {
        sql.push(" AND 1 = 0");
        return;
    };
    debug_assert!(pairs.len() <= 256, "{} pairs", pairs.len());
    sql.push(" AND (");
    for place in 0..pairs.len().next_power_of_two() {
        let (one, other) = pairs.get(place).unwrap_or(last);
        sql.push(if place > 0 { " OR (" } else { "(" });
        sql.push(first).push(" = ").bind(one.clone()).push(" AND ");
        sql.push(second).push(" = ").bind(other.clone()).push(")");
    }
    sql.push(")");
}

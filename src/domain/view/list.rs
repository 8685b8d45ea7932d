//! Lists of views, and what is unread in them: one statement for any number of users.

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use sea_orm::{DbBackend, QueryResult, Value};

use super::{Key, Row, View, Visit, push_pairs};
use crate::app::App;
use crate::domain::check;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::Sql;

/// The most views of one list.
pub const VIEWS: usize = 200;

/// Which of a user's views to list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// So many, most recently active first.
    Newest(usize),
    /// These, as far as he is in them, in this order; at most 200.
    These(Vec<Key>),
}

/// What a user has not seen yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// Activities in all his views.
    pub total: i64,
    /// Views that hold any, most recently active first.
    pub views: Vec<View>,
}

/// Refuses keys that no view can have, and more than 200.
pub fn check_keys(keys: &[Key]) -> Result<()> {
    check::count("keys", keys.len(), VIEWS)?;
    let within = |(place, key): (usize, &Key)| key.check().map_err(|error| error.within(&format!("keys[{place}]")));
    keys.iter().enumerate().try_for_each(within)
}

/// Views of users.
pub async fn of(app: &App, tenant: &Tenant, users: &[UserId], listing: &Listing) -> Result<HashMap<UserId, Vec<View>>> {
    let rows = match listing {
        Listing::Newest(first) => newest(app, users, *first, Which::All).all(&app.db.read).await?,
        Listing::These(keys) => {
            check_keys(keys)?;
            these(app, tenant, users, keys).all(&app.db.read).await?
        }
    };
    let mut lists: HashMap<UserId, Vec<(i64, View)>> = HashMap::with_capacity(users.len());
    for row in &rows {
        let (user, place, view) = read(row)?;
        lists.entry(user).or_default().push((place, view));
    }
    let in_order = |(user, mut list): (UserId, Vec<(i64, View)>)| {
        match listing {
            Listing::Newest(_) => list.sort_by_key(|(place, _)| *place),
            Listing::These(keys) => {
                list.sort_by_cached_key(|(_, view)| keys.iter().position(|key| *key == view.key));
            }
        }
        (user, list.into_iter().map(|(_, view)| view).collect())
    };
    Ok(lists.into_iter().map(in_order).collect())
}

/// At most `many` of a user's views after one, in the order of their rows: a range of `view_visit`'s key.
pub async fn after(app: &App, user: UserId, view: ViewId, many: usize) -> Result<Vec<(ViewId, View)>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(Row::COLUMNS).push(", ").push(Visit::COLUMNS);
    sql.push(" FROM view_visit m JOIN view v ON v.id = m.view_id WHERE m.user_id = ").bind(user);
    sql.push(" AND m.view_id > ").bind(view).push(" ORDER BY m.view_id LIMIT ");
    sql.bind(i64::try_from(many).map_err(Error::internal)?);
    let rows = sql.all(&app.db.read).await?;
    let read = |row| Row::read(row).and_then(|of| Ok((of.id, of.seen(Visit::read(row)?)?)));
    rows.iter().map(read).collect()
}

/// What users have not seen, with the first so many views of each. Who has seen everything is left out.
pub async fn unread_of(app: &App, users: &[UserId], first: usize) -> Result<HashMap<UserId, Unread>> {
    // The sum comes with the views, so that one of them must come.
    let rows = newest(app, users, first.max(1), Which::Unread).all(&app.db.read).await?;
    let mut unread: HashMap<UserId, Unread> = HashMap::with_capacity(users.len());
    let mut places = rows.iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().zip(&rows).collect::<Vec<_>>();
    places.sort_by_key(|((_, place, _), _)| *place);
    for ((user, _, view), row) in places {
        let of = unread.entry(user).or_default();
        of.total = row.try_get("", "x_total")?;
        if of.views.len() < first {
            of.views.push(view);
        }
    }
    Ok(unread)
}

fn read(row: &QueryResult) -> Result<(UserId, i64, View)> {
    let view = Row::read(row)?.seen(Visit::read(row)?)?;
    Ok((row.try_get("", "m_user_id")?, row.try_get("", "m_place")?, view))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    Unread,
}

/// The most recently active views of each user: a range of `view_visit`'s key for each, a probe of `view`'s for each of
/// his visits, and another for those that are shown. Costs the number of his views, not what is in them.
///
/// The users' ids are constants, as MySQL wants them, and what is sorted holds no text.
fn newest(app: &App, users: &[UserId], first: usize, which: Which) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    let integer = if sql.backend() == DbBackend::MySql { "SIGNED" } else { "BIGINT" };
    sql.push("SELECT ").push(Row::COLUMNS);
    sql.push(", x.user_id AS m_user_id, x.position AS m_position, x.visited_at AS m_visited_at, x.place AS m_place, ");
    sql.push("x.total AS x_total FROM (SELECT m.user_id, m.view_id, m.position, m.visited_at, ");
    sql.push("ROW_NUMBER() OVER (PARTITION BY m.user_id ORDER BY COALESCE(a.last_activity_at, 0) DESC, a.id DESC) ");
    sql.push(&format!(
        "AS place, CAST(SUM(a.position - m.position) OVER (PARTITION BY m.user_id) AS {integer}) AS total "
    ));
    sql.push("FROM view_visit m");
    push_view(&mut sql, "a", "m.view_id");
    sql.push(" WHERE m.user_id").among(users);
    if which == Which::Unread {
        sql.push(" AND a.position > m.position");
    }
    sql.push(") x");
    push_view(&mut sql, "v", "x.view_id");
    sql.push(" WHERE x.place <= ").bind(i64::try_from(first).unwrap_or(i64::MAX));
    sql
}

/// Adds the view with an id of what stands before. PostgreSQL would sooner hash tens of thousands of views than look up
/// two hundred, and does not where it is to look up each by itself.
pub(super) fn push_view(sql: &mut Sql, alias: &str, id: &str) {
    if sql.backend() == DbBackend::Postgres {
        sql.push(&format!(" CROSS JOIN LATERAL (SELECT * FROM view WHERE view.id = {id} LIMIT 1) {alias}"));
    } else {
        sql.push(&format!(" JOIN view {alias} ON {alias}.id = {id}"));
    }
}

/// Views by their keys: probes of `view_external_id`, and of `view_visit`'s key for each user.
fn these(app: &App, tenant: &Tenant, users: &[UserId], keys: &[Key]) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(Row::COLUMNS).push(", ").push(Visit::COLUMNS);
    sql.push(", m.user_id AS m_user_id, m.joined_at AS m_place FROM view v JOIN view_visit m ON m.view_id = v.id");
    sql.push(" AND m.user_id").among(users).push(" WHERE v.tenant_id = ").bind(tenant.id);
    let pairs: Vec<(Value, Value)> = keys.iter().map(|key| (key.code.clone().into(), key.id.clone().into())).collect();
    push_pairs(&mut sql, ("v.code", "v.external_id"), &pairs);
    sql
}

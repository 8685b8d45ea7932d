//! The one statement of a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::notification::Kind;
use entity::prelude::FromQueryResult;

use super::window::{End, Filter, Way, Window};
use crate::app::App;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::catalogue::Catalogue;
use crate::domain::channel::Target;
use crate::domain::inbox::item;
use crate::domain::inbox::shelf::{Place, push_range, push_shown, ranges};
use crate::domain::inbox::standing::{self, Reach, Standing};
use crate::domain::tenant::Tenant;

/// Items that a page by kind, target, action or sender passes over at the most, since what they are is looked up for each.
const PASSED_OVER: i64 = 1_000;

/// Pages that a walk along the inbox looks at, for one that it is to find.
const PAGES: i64 = 3;

/// Where the inbox stands, and one of the items. There is one row at least, without any where there is none.
#[derive(Debug, FromQueryResult)]
pub struct Row {
    #[sea_orm(nested)]
    pub standing: Standing,
    /// Also where its notification has gone, and so nothing of it is shown.
    pub item_seq: Option<Seq>,
    #[sea_orm(nested)]
    pub item: Option<item::Row>,
    /// The last of the items that were passed over, where they were as many as may be.
    pub walked_to: Option<Seq>,
}

/// The one statement: where the inbox stands, and the page with all that is shown of it.
///
/// A walk is along the key of `inbox_item` from the list's end, three pages and no further: what is archived or has expired is
/// passed over. Where these did not fill a page, and the inbox goes on, the ranges are asked.
///
/// Each (type, state) is one range of `inbox_item_state`, read from its end and no further than a page; the pages are
/// merged. So a page costs the number of types, never the length of the inbox. Filters by what is in the notification
/// (kind, target, action, sender) probe it for each item that is passed over, of which there are 1,000 at the most.
pub fn statement(
    app: &App,
    tenant: &Tenant,
    user: UserId,
    (filter, way): (&Filter, Way),
    window: Window,
    (catalogue, reach): (&Arc<Catalogue>, Reach),
) -> Sql {
    let order = if window.end == End::Newest { "DESC" } else { "ASC" };
    let page = i64::try_from(window.many).unwrap_or(i64::MAX - 1) + 1;
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(standing::COLUMNS).push(", ");
    item::push_columns(&mut sql);
    // By this catalogue, which may turn out to be outdated: only by the newest there is a type or there is none.
    let is_chosen = |code: &String| filter.types.as_ref().is_none_or(|types| types.contains(code));
    let types: Vec<TypeId> = catalogue.types.iter().filter(|kind| is_chosen(&kind.code)).map(|kind| kind.id).collect();
    let branches = |sql: &mut Sql, many| {
        push_branches(sql, (app, tenant, user), filter, window, (&types, reach), many);
    };
    let walk = |sql: &mut Sql, columns| {
        sql.push(&format!("SELECT {columns} FROM inbox_item i WHERE i.user_id = ")).bind(user);
        push_window(sql, tenant, user, filter, window, reach);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(PAGES * page);
    };
    if way == Way::Walk {
        sql.push(", (SELECT b.seq FROM (");
        walk(&mut sql, "i.seq");
        sql.push(&format!(") b ORDER BY b.seq {order} LIMIT 1 OFFSET ")).bind(PAGES * page - 1).push(")");
    } else if filter.looks_up() {
        sql.push(", (SELECT b.seq FROM (");
        branches(&mut sql, PASSED_OVER);
        sql.push(&format!(") b ORDER BY b.seq {order} LIMIT 1 OFFSET ")).bind(PASSED_OVER - 1).push(")");
    } else {
        sql.push(", NULL");
    }
    sql.push(" AS walked_to FROM (");
    standing::push(&mut sql, tenant, &[user], reach, &|_, _| {});
    sql.push(") h LEFT JOIN (");
    if way == Way::Walk {
        sql.push("SELECT i.user_id, i.seq FROM (");
        walk(&mut sql, "i.user_id, i.seq, i.state, i.expires_at");
        sql.push(") i WHERE ");
        push_shown(&mut sql, filter.side, app.now());
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(page);
    } else if filter.looks_up() {
        sql.push("SELECT i.user_id, i.seq FROM (SELECT b.user_id, b.seq FROM (");
        branches(&mut sql, PASSED_OVER);
        sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(PASSED_OVER).push(") i");
        push_filter_joins(&mut sql, tenant, filter);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(page);
    } else {
        sql.push("SELECT b.user_id, b.seq FROM (");
        branches(&mut sql, page);
        sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(page);
    }
    sql.push(") x ON x.user_id = h.h_user_id LEFT JOIN inbox_item i ON i.user_id = x.user_id AND i.seq = x.seq");
    item::push_joins(&mut sql, tenant);
    sql.push(&format!(" ORDER BY i.seq {order}"));
    sql
}

/// Adds the first items of each range of the types that are asked for.
fn push_branches(
    sql: &mut Sql,
    (app, tenant, user): (&App, &Tenant, UserId),
    filter: &Filter,
    window: Window,
    (types, reach): (&[TypeId], Reach),
    many: i64,
) {
    let order = if window.end == End::Newest { "DESC" } else { "ASC" };
    let branches =
        types.iter().flat_map(|kind| ranges(filter.side, filter.read).iter().map(move |range| (*kind, *range)));
    for (place, (kind, range)) in branches.enumerate() {
        sql.push(if place > 0 { " UNION ALL " } else { "" });
        sql.push("SELECT user_id, seq FROM (SELECT i.user_id, i.seq FROM inbox_item i WHERE ");
        push_range(sql, Place::from(user), Place::from(kind), range, app.now());
        push_window(sql, tenant, user, filter, window, reach);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(many).push(&format!(") b{place}"));
    }
    if types.is_empty() {
        sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id = -1");
    }
}

/// Adds which part of the inbox: between two of its items, two instants, and no further than it is shown.
fn push_window(sql: &mut Sql, tenant: &Tenant, user: UserId, filter: &Filter, window: Window, reach: Reach) {
    if let Some(seq) = window.older_than {
        sql.push(" AND i.seq < ").bind(seq);
    }
    if let Some(seq) = window.newer_than {
        sql.push(" AND i.seq > ").bind(seq);
    }
    push_instant(sql, tenant, ">=", filter.since);
    push_instant(sql, tenant, "<", filter.until);
    standing::push_cut(sql, user.into(), "", reach);
}

/// Instants do not go back along the log, so a bound in time is a bound of seqs: one probe of `notification_published_at`.
/// Where a wrong clock has left entries that are ahead, what came after them is found by its own instants. Nothing was
/// published at or after it: no seq is.
fn push_instant(sql: &mut Sql, tenant: &Tenant, side: &str, instant: Option<Millis>) {
    let Some(instant) = instant else { return };
    sql.push(&format!(" AND i.seq {side} COALESCE((SELECT f.seq FROM notification f WHERE f.tenant_id = "));
    sql.bind(tenant.id).push(" AND f.published_at >= ").bind(instant);
    sql.push(&format!(" ORDER BY f.published_at, f.seq LIMIT 1), {})", i64::MAX));
}

fn push_filter_joins(sql: &mut Sql, tenant: &Tenant, filter: &Filter) {
    let Filter { kinds, target, action, sender, .. } = filter;
    sql.push(" JOIN notification f ON f.tenant_id = ").bind(tenant.id).push(" AND f.seq = i.seq");
    if let Some(kinds) = kinds {
        let kinds: BTreeSet<Kind> = kinds.iter().copied().collect();
        sql.push(" AND f.kind").among(&Vec::from_iter(kinds));
    }
    if let Some(target) = target {
        push_target(sql, "f", target);
    }
    if let Some(action) = action {
        sql.push(" AND f.action_id = (SELECT c.id FROM action c WHERE c.tenant_id = ").bind(tenant.id);
        sql.push(" AND c.code = ").bind(action.clone()).push(")");
    }
    if let Some(sender) = sender {
        sql.push(" AND f.sender_id = (SELECT c.id FROM users c WHERE c.tenant_id = ").bind(tenant.id);
        sql.push(" AND c.external_id = ").bind(sender.clone()).push(")");
    }
}

/// Adds that a notification is about a target.
pub fn push_target(sql: &mut Sql, alias: &str, target: &Target) {
    sql.push(&format!(" AND {alias}.target_type = ")).bind(target.target_type.clone());
    sql.push(&format!(" AND {alias}.target_id = ")).bind(target.id.clone());
}

//! The list: a page of a user's inbox, newest first, in one statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};

use super::item::{self, Item};
use super::shelf::{Place, Side, push_range, ranges};
use super::standing::{self, Reach, Standing, Verdict};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue::{self, Catalogue, TYPES};
use crate::domain::channel::Target;
use crate::domain::check;
use crate::domain::notification::Kind;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::Sql;

/// Items that a page by kind, target, action or sender passes over at the most, since what they are is looked up for each.
const PASSED_OVER: i64 = 1_000;

/// Which items to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<Kind>>,
    pub read: Option<bool>,
    pub side: Side,
    pub target: Option<Target>,
    pub action: Option<String>,
    /// The partner's id.
    pub sender: Option<String>,
    /// Published at or after this instant.
    pub since: Option<Millis>,
    /// Published before this instant.
    pub until: Option<Millis>,
}

impl Filter {
    /// Refuses conditions that nothing can meet, and that a database may not even take.
    fn check(&self) -> Result<()> {
        if let Some(target) = &self.target {
            target.check().map_err(|error| error.within("filter"))?;
        }
        check::count("filter.types", self.types.as_ref().map_or(0, Vec::len), TYPES)?;
        let codes = [("filter.action", &self.action), ("filter.sender", &self.sender)];
        codes
            .into_iter()
            .filter_map(|(field, code)| Some((field, code.as_deref()?)))
            .try_for_each(|(field, code)| check::code(field, code))
    }

    /// Whether it asks for what is in the notifications.
    fn looks_up(&self) -> bool {
        let Self { kinds, target, action, sender, .. } = self;
        kinds.is_some() || target.is_some() || action.is_some() || sender.is_some()
    }
}

/// Which part of the list.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// How many items at the most.
    pub many: usize,
    /// From which end.
    pub end: End,
    /// Only items older than this one.
    pub older_than: Option<Seq>,
    /// Only items newer than this one.
    pub newer_than: Option<Seq>,
}

/// An end of a list that is shown newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Newest,
    Oldest,
}

/// A part of a list, which is of one place in the log.
#[derive(Clone, Debug)]
pub struct Page {
    /// Newest first.
    pub items: Vec<Item>,
    /// Where the list goes on, beyond this one, towards the end that was walked to: at the last item of a full page, or of those
    /// that were passed over.
    pub goes_on_at: Option<Seq>,
    /// That place. What came after it is not in the list.
    pub upto: Seq,
}

/// A page of a user's inbox, which is synced first where it is behind.
pub async fn read(app: &App, tenant: &Tenant, user: UserId, filter: &Filter, window: Window) -> Result<Page> {
    filter.check()?;
    let mut window = window;
    let mut catalogue = catalogue::cached(app, tenant).await?;
    let mut reach = Reach::End;
    loop {
        let rows = statement(app, tenant, user, filter, window, (&catalogue, reach)).all(&app.db.read).await?;
        let standings = rows.iter().take(1).map(Standing::read).collect::<Result<Vec<_>>>()?;
        match standing::check(app, tenant, &standings, &catalogue).await? {
            Verdict::Stands => {}
            Verdict::Outdated(newer) => {
                catalogue = newer;
                continue;
            }
            Verdict::WereBehind(_) => {
                reach = Reach::Cursor;
                continue;
            }
        }
        catalogue.chosen("filter.types", filter.types.as_deref())?;
        // By rows: an item whose notification has gone fills a place all the same.
        let seqs = rows.iter().map(|row| row.try_get::<Option<Seq>>("", "item_seq"));
        let seqs: Vec<Seq> = seqs.collect::<std::result::Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let walked_to: Option<Seq> = match rows.first().filter(|_| filter.looks_up()) {
            Some(row) => row.try_get("", "walked_to")?,
            None => None,
        };
        let is_full = seqs.len() > window.many;
        let mut items = Vec::with_capacity(rows.len());
        for row in rows.iter().take(window.many) {
            items.extend(Item::read(row, &catalogue)?);
        }
        if let Some(last) = seqs.get(window.many.wrapping_sub(1)).filter(|_| items.is_empty() && is_full) {
            match window.end {
                End::Newest => window.older_than = Some(*last),
                End::Oldest => window.newer_than = Some(*last),
            }
            continue;
        }
        if window.end == End::Oldest {
            items.reverse();
        }
        let upto = standings.first().map(|of| of.complete_upto).unwrap_or_default();
        // A page for nothing at all goes on before its first.
        let last = seqs.get(window.many.saturating_sub(1)).copied();
        return Ok(Page { items, goes_on_at: if is_full { last } else { walked_to }, upto });
    }
}

/// The one statement: where the inbox stands, and the page with all that is shown of it.
///
/// Each (type, state) is one range of `inbox_item_state`, read from its end and no further than a page; the pages are
/// merged. So a page costs the number of types, never the length of the inbox. Filters by what is in the notification
/// (kind, target, action, sender) probe it for each item that is passed over, of which there are 1,000 at the most.
pub fn statement(
    app: &App,
    tenant: &Tenant,
    user: UserId,
    filter: &Filter,
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
    if filter.looks_up() {
        sql.push(", (SELECT b.seq FROM (");
        branches(&mut sql, PASSED_OVER);
        sql.push(&format!(") b ORDER BY b.seq {order} LIMIT 1 OFFSET ")).bind(PASSED_OVER - 1).push(") AS walked_to");
    }
    sql.push(" FROM (");
    standing::push(&mut sql, tenant, &[user], reach, &|_, _| {});
    sql.push(") h LEFT JOIN (");
    if filter.looks_up() {
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
        if let Some(seq) = window.older_than {
            sql.push(" AND i.seq < ").bind(seq);
        }
        if let Some(seq) = window.newer_than {
            sql.push(" AND i.seq > ").bind(seq);
        }
        push_instant(sql, tenant, ">=", filter.since);
        push_instant(sql, tenant, "<", filter.until);
        standing::push_cut(sql, user.into(), "", reach);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(many).push(&format!(") b{place}"));
    }
    if types.is_empty() {
        sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id = -1");
    }
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
        let kinds: BTreeSet<i64> = kinds.iter().map(|kind| *kind as i64).collect();
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
pub(super) fn push_target(sql: &mut Sql, alias: &str, target: &Target) {
    sql.push(&format!(" AND {alias}.target_type = ")).bind(target.target_type.clone());
    sql.push(&format!(" AND {alias}.target_id = ")).bind(target.id.clone());
}

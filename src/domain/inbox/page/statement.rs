//! The SQL statement of a list page.

use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::notification::Kind;
use entity::prelude::Columns;
use entity::statement::Column;
use sea_orm::{DbBackend, QueryResult};

use super::window::{End, Filter, Way, Window};
use crate::app::App;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::catalogue::Catalogue;
use crate::domain::channel::Target;
use crate::domain::inbox::item::{self, Item, Own};
use crate::domain::inbox::shelf::{Place, push_range, push_shown, ranges};
use crate::domain::inbox::standing::{self, Reach, Standing, push_stamp};
use crate::domain::probe;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::contents::Edition;
use crate::model::proof::Stamp;

/// The most items that a page filtered by kind, target, action or sender examines: each needs a lookup.
const PASSED_OVER: i64 = 1_000;

/// How many pages of items a walk along the inbox reads to fill one page.
const PAGES: i64 = 3;

/// The columns that a walk reads of each item.
const WALKED: &str = "i.user_id, i.seq, i.type_id, i.state, i.read_at, i.archived_at, i.expires_at";

/// The first columns of every row: how fresh the inbox is.
pub type Stands = (Standing, Stamp);

/// A row of the page. An empty page still has one row, without an item.
pub struct Row<'a> {
    /// `Some` even if the item's notification is gone, so that nothing of it can be shown.
    pub own: Option<Own>,
    /// The last item that was examined, if the walk or the lookups reached their limit.
    pub walked_to: Option<Seq>,
    all: &'a QueryResult,
}

impl<'a> Row<'a> {
    /// Reads a row, except for the content of its notification.
    pub fn of(all: &'a QueryResult) -> Result<Self> {
        let walked_to = Column::get(all, Stands::MANY + item::Whole::MANY)?;
        Ok(Self { own: Option::read(all, Stands::MANY)?, walked_to, all })
    }

    /// The item of this row and the revision of its content. `None` if its notification is gone.
    pub fn item(&self, reading: &item::Reading<'_>) -> Result<Option<(Item, Edition)>> {
        let Some(own) = &self.own else { return Ok(None) };
        let content = reading.content(own.seq, self.all, Stands::MANY + Own::MANY)?;
        Ok(content.map(|(edition, content)| (item::over(own, content), edition)))
    }
}

/// Selects the freshness of the inbox and one page of items with all that they display.
///
/// A walk follows the key of `inbox_item` from one end of the list. It skips archived and expired items and stops once
/// the page is full, or after three pages of items. If it gets that far, `walked_to` names the last item, shown or not:
/// more may follow, and the caller then reads the ranges.
///
/// The rows have no order, because PostgreSQL and SQLite would sort all displayed columns with them.
///
/// Each (type, state) is one range of `inbox_item_state`. The statement reads at most a page from the end of each range
/// and merges them, so a page costs the number of types, never the length of the inbox. Expired items that the hourly
/// sweep has not deleted yet are skipped in the index. Filters on the notification (kind, target, action, sender) look
/// up each examined item, at most 1,000.
pub fn statement(
    app: &App,
    tenant: &Tenant,
    user: UserId,
    (filter, way): (&Filter, Way),
    window: Window,
    (catalogue, reach): (&Arc<Catalogue>, Reach),
) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").columns::<(Stands, item::Whole)>();
    let part = Part { app, tenant, user, filter, window, reach };
    match way {
        Way::Walk => part.push_walk(&mut sql),
        Way::Ranges => part.push_ranges(&mut sql, catalogue),
    }
    item::push_joins(&mut sql, tenant);
    sql
}

/// The part of an inbox that is listed.
#[derive(Clone, Copy)]
struct Part<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    user: UserId,
    filter: &'a Filter,
    window: Window,
    reach: Reach,
}

impl Part<'_> {
    fn order(self) -> &'static str {
        if self.window.end == End::Newest { "DESC" } else { "ASC" }
    }

    /// One more than a page, to tell whether the list goes on.
    fn page(self) -> i64 {
        i64::try_from(self.window.many).unwrap_or(i64::MAX - 1) + 1
    }

    /// Adds the freshness columns `h` and, by a walk along the inbox, the items `i`.
    fn push_walk(self, sql: &mut Sql) {
        sql.push(", i.walked_to FROM (");
        standing::push(sql, self.tenant, &[self.user], self.reach, &push_stamp);
        sql.push(") h LEFT JOIN (");
        if sql.backend() == DbBackend::Sqlite {
            self.push_bounded(sql);
        } else {
            self.push_numbered(sql);
        }
        sql.push(&format!(" ORDER BY i.seq {} LIMIT ", self.order())).bind(self.page());
        sql.push(") i ON i.user_id = h.h_user_id");
    }

    /// Adds the items along the inbox, each with its number in the walk.
    fn push_numbered(self, sql: &mut Sql) {
        let (order, last) = (self.order(), PAGES * self.page());
        sql.push("SELECT i.*, CASE WHEN i.place = ").bind(last).push(" THEN i.seq END AS walked_to FROM (");
        sql.push(&format!("SELECT i.*, ROW_NUMBER() OVER (ORDER BY i.seq {order}) AS place FROM (SELECT "));
        sql.push(WALKED);
        self.push_inbox(sql);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(last).push(") i) i WHERE ");
        push_shown(sql, self.filter.side, self.app.now());
        sql.push(" OR i.place = ").bind(last);
    }

    /// Adds the items along the inbox up to the last one of the walk. SQLite would number all candidates and sort
    /// twice.
    fn push_bounded(self, sql: &mut Sql) {
        let order = self.order();
        let push_last = |sql: &mut Sql| {
            sql.push("(SELECT i.seq");
            self.push_inbox(sql);
            sql.push(&format!(" ORDER BY i.seq {order} LIMIT 1 OFFSET ")).bind(PAGES * self.page() - 1).push(")");
        };
        sql.push("SELECT ").push(WALKED).push(", CASE WHEN i.seq = ");
        push_last(sql);
        sql.push(" THEN i.seq END AS walked_to");
        self.push_inbox(sql);
        let (side, end) = if self.window.end == End::Newest { (">=", 0) } else { ("<=", i64::MAX) };
        sql.push(&format!(" AND i.seq {side} COALESCE("));
        push_last(sql);
        sql.push(&format!(", {end}) AND ("));
        push_shown(sql, self.filter.side, self.app.now());
        sql.push(" OR i.seq = ");
        push_last(sql);
        sql.push(")");
    }

    /// Adds `FROM inbox_item i` with the conditions of the listed part of the user's inbox.
    fn push_inbox(self, sql: &mut Sql) {
        sql.push(" FROM inbox_item i WHERE i.user_id = ").bind(self.user);
        self.push_window(sql);
    }

    /// Adds the freshness columns `h` and, by ranges of types and states, the items `i`.
    fn push_ranges(self, sql: &mut Sql, catalogue: &Catalogue) {
        let Self { tenant, filter, .. } = self;
        let (order, page) = (self.order(), self.page());
        // This catalogue may be outdated. The caller checks the version and only then rejects unknown types.
        let is_chosen = |code: &String| filter.types.as_ref().is_none_or(|types| types.contains(code));
        let types: Vec<TypeId> =
            catalogue.types.iter().filter(|kind| is_chosen(&kind.code)).map(|kind| kind.id).collect();
        if filter.looks_up() {
            sql.push(", (SELECT b.seq FROM (");
            self.push_branches(sql, &types, PASSED_OVER);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT 1 OFFSET ")).bind(PASSED_OVER - 1).push(")");
        } else {
            sql.push(", NULL");
        }
        sql.push(" AS walked_to FROM (");
        standing::push(sql, tenant, &[self.user], self.reach, &push_stamp);
        sql.push(") h LEFT JOIN (");
        if filter.looks_up() {
            sql.push("SELECT i.user_id, i.seq FROM (SELECT b.user_id, b.seq FROM (");
            self.push_branches(sql, &types, PASSED_OVER);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(PASSED_OVER).push(") i WHERE ");
            push_looked_up(sql, tenant, filter);
            sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(page);
        } else {
            sql.push("SELECT b.user_id, b.seq FROM (");
            self.push_branches(sql, &types, page);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(page);
        }
        sql.push(") x ON x.user_id = h.h_user_id LEFT JOIN inbox_item i ON i.user_id = x.user_id AND i.seq = x.seq");
    }

    /// Adds the first items of each range of the requested types.
    fn push_branches(self, sql: &mut Sql, types: &[TypeId], many: i64) {
        let Self { app, user, filter, .. } = self;
        let branches =
            types.iter().flat_map(|kind| ranges(filter.side, filter.read).iter().map(move |range| (*kind, *range)));
        for (place, (kind, range)) in branches.enumerate() {
            sql.push(if place > 0 { " UNION ALL " } else { "" });
            sql.push("SELECT user_id, seq FROM (SELECT i.user_id, i.seq FROM inbox_item i WHERE ");
            push_range(sql, Place::from(user), Place::from(kind), range, app.now());
            self.push_window(sql);
            sql.push(&format!(" ORDER BY i.seq {} LIMIT ", self.order())).bind(many).push(&format!(") b{place}"));
        }
        if types.is_empty() {
            sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id = -1");
        }
    }

    /// Adds the bounds: between two items, between two instants, and up to the bound of the read.
    fn push_window(self, sql: &mut Sql) {
        let Self { tenant, filter, window, .. } = self;
        if let Some(seq) = window.older_than {
            sql.push(" AND i.seq < ").bind(seq);
        }
        if let Some(seq) = window.newer_than {
            sql.push(" AND i.seq > ").bind(seq);
        }
        push_instant(sql, tenant, ">=", filter.since);
        push_instant(sql, tenant, "<", filter.until);
        standing::push_cut(sql, self.user.into(), "", self.reach);
    }
}

/// Publication times never decrease along the log, so a time bound is a bound of seqs: one probe of
/// `notification_published_at`. If a wrong clock left entries that are ahead, later entries are found by their own
/// times. If nothing was published at or after the instant, the bound is beyond every seq.
fn push_instant(sql: &mut Sql, tenant: &Tenant, side: &str, instant: Option<Millis>) {
    let Some(instant) = instant else { return };
    sql.push(&format!(" AND i.seq {side} COALESCE((SELECT f.seq FROM notification f WHERE f.tenant_id = "));
    sql.bind(tenant.id).push(" AND f.published_at >= ").bind(instant);
    sql.push(&format!(" ORDER BY f.published_at, f.seq LIMIT 1), {})", i64::MAX));
}

/// Adds that the notification of item `i` matches the filter: a probe of `notification_seq`.
fn push_looked_up(sql: &mut Sql, tenant: &Tenant, filter: &Filter) {
    let Filter { kinds, target, action, sender, .. } = filter;
    sql.push("(");
    probe::push_begin(sql, "seq", tenant, "i.seq");
    if let Some(kinds) = kinds {
        let kinds: BTreeSet<Kind> = kinds.iter().copied().collect();
        sql.push(" AND f.kind").among(&Vec::from_iter(kinds));
    }
    if let Some(target) = target {
        push_target(sql, "f", target);
    }
    if let Some(action) = action {
        sql.push(" AND f.action_id = ");
        probe::push_id(sql, tenant, "action", "code", action);
    }
    if let Some(sender) = sender {
        sql.push(" AND f.sender_id = ");
        probe::push_id(sql, tenant, "users", "external_id", sender);
    }
    probe::push_end(sql);
    sql.push(") IS NOT NULL");
}

/// Adds that a notification has this target.
pub fn push_target(sql: &mut Sql, alias: &str, target: &Target) {
    sql.push(&format!(" AND {alias}.target_type = ")).bind(target.target_type.clone());
    sql.push(&format!(" AND {alias}.target_id = ")).bind(target.id.clone());
}

//! The SQL statement of a list page.

use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::notification::NotificationKind;
use entity::prelude::FromColumns;
use entity::statement::FromColumn;
use sea_orm::{DbBackend, QueryResult};

use super::filter::{ItemFilter, PageEnd, PageStrategy, PageWindow};
use crate::catalogue::Catalogue;
use crate::channel::ActionTarget;
use crate::inbox::freshness::{self, InboxPosition, ReadBound, push_reader, push_versions};
use crate::inbox::item::{self, UserItem, UserItemRow};
use crate::inbox::ranges::{SqlOperand, push_range, push_side, ranges_of_side};
use crate::probe;
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use model::cache_validator::InboxVersions;
use model::notification_cache::ContentRevision;
use model::reader::ReaderLocale;
use store::{SqlBuilder, Store};

/// The most items that a page filtered by kind, target, action or sender examines: each needs a lookup.
const PASSED_OVER: i64 = 1_000;

/// How many pages of items a walk along the inbox reads to fill one page.
const PAGES: i64 = 3;

/// The columns that a walk reads of each item.
const WALKED: &str = "i.user_id, i.seq, i.type_id, i.state, i.read_at, i.archived_at, i.expires_at";

/// The first columns of every row: how fresh the inbox is.
pub type FreshnessColumns = (InboxPosition, InboxVersions);

/// The index of the first column of the reader.
const READER: usize = FreshnessColumns::MANY + item::ItemWithContent::MANY;

/// A row of the page. An empty page still has one row, without an item.
pub struct PageRow<'a> {
    /// `Some` even if the item's notification is gone, so that nothing of it can be shown.
    pub own: Option<UserItemRow>,
    /// The last item that was examined, if the walk or the lookups reached their limit.
    pub walked_to: Option<Seq>,
    all: &'a QueryResult,
}

impl<'a> PageRow<'a> {
    /// Reads a row, except for the content of its notification.
    pub fn from_result(all: &'a QueryResult) -> Result<Self> {
        let walked_to = FromColumn::read_column(all, READER + ReaderLocale::MANY)?;
        Ok(Self { own: Option::read_columns(all, FreshnessColumns::MANY)?, walked_to, all })
    }

    /// The item of this row and the revision of its content. `None` if its notification is gone.
    pub fn read_item(&self, reading: &item::ContentReader<'_>) -> Result<Option<(UserItem, ContentRevision)>> {
        let Some(own) = &self.own else { return Ok(None) };
        let content = FreshnessColumns::MANY + UserItemRow::MANY;
        let content = reading.read_content_for(own.seq, self.all, (content, READER))?;
        Ok(content.map(|(edition, content)| (item::build_item(own, content), edition)))
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
pub fn page_query(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    (filter, way): (&ItemFilter, PageStrategy),
    window: PageWindow,
    (catalogue, reach): (&Arc<Catalogue>, ReadBound),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<((FreshnessColumns, item::ItemWithContent), ReaderLocale)>();
    let part = PageQuery { store, tenant, user, filter, window, reach };
    match way {
        PageStrategy::Walk => part.push_walk(&mut sql),
        PageStrategy::Ranges => part.push_ranges(&mut sql, catalogue),
    }
    item::push_joins(&mut sql, tenant);
    sql
}

/// Adds the columns of the inbox's versions and of its reader.
fn push_shown(sql: &mut SqlBuilder, user: SqlOperand<'_>) {
    push_versions(sql, user);
    push_reader(sql);
}

/// The part of an inbox that is listed.
#[derive(Clone, Copy)]
struct PageQuery<'a> {
    store: &'a Store,
    tenant: &'a Tenant,
    user: UserId,
    filter: &'a ItemFilter,
    window: PageWindow,
    reach: ReadBound,
}

impl PageQuery<'_> {
    fn sort_order(self) -> &'static str {
        if self.window.end == PageEnd::Newest { "DESC" } else { "ASC" }
    }

    /// One more than a page, to tell whether the list goes on.
    fn row_limit(self) -> i64 {
        i64::try_from(self.window.many).unwrap_or(i64::MAX - 1) + 1
    }

    /// Adds the freshness columns `h` and, by a walk along the inbox, the items `i`.
    fn push_walk(self, sql: &mut SqlBuilder) {
        sql.push(", i.walked_to FROM (");
        freshness::push_positions(sql, self.tenant, &[self.user], self.reach, &push_shown);
        sql.push(") h LEFT JOIN (");
        if sql.backend() == DbBackend::Sqlite {
            self.push_bounded(sql);
        } else {
            self.push_numbered(sql);
        }
        sql.push(&format!(" ORDER BY i.seq {} LIMIT ", self.sort_order())).bind(self.row_limit());
        sql.push(") i ON i.user_id = h.h_user_id");
    }

    /// Adds the items along the inbox, each with its number in the walk.
    fn push_numbered(self, sql: &mut SqlBuilder) {
        let (order, last) = (self.sort_order(), PAGES * self.row_limit());
        sql.push("SELECT i.*, CASE WHEN i.place = ").bind(last).push(" THEN i.seq END AS walked_to FROM (");
        sql.push(&format!("SELECT i.*, ROW_NUMBER() OVER (ORDER BY i.seq {order}) AS place FROM (SELECT "));
        sql.push(WALKED);
        self.push_inbox(sql);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(last).push(") i) i WHERE ");
        push_side(sql, self.filter.side, self.store.now());
        sql.push(" OR i.place = ").bind(last);
    }

    /// Adds the items along the inbox up to the last one of the walk. SQLite would number all candidates and sort
    /// twice.
    fn push_bounded(self, sql: &mut SqlBuilder) {
        let order = self.sort_order();
        let push_last = |sql: &mut SqlBuilder| {
            sql.push("(SELECT i.seq");
            self.push_inbox(sql);
            sql.push(&format!(" ORDER BY i.seq {order} LIMIT 1 OFFSET ")).bind(PAGES * self.row_limit() - 1).push(")");
        };
        sql.push("SELECT ").push(WALKED).push(", CASE WHEN i.seq = ");
        push_last(sql);
        sql.push(" THEN i.seq END AS walked_to");
        self.push_inbox(sql);
        let (side, end) = if self.window.end == PageEnd::Newest { (">=", 0) } else { ("<=", i64::MAX) };
        sql.push(&format!(" AND i.seq {side} COALESCE("));
        push_last(sql);
        sql.push(&format!(", {end}) AND ("));
        push_side(sql, self.filter.side, self.store.now());
        sql.push(" OR i.seq = ");
        push_last(sql);
        sql.push(")");
    }

    /// Adds `FROM inbox_item i` with the conditions of the listed part of the user's inbox.
    fn push_inbox(self, sql: &mut SqlBuilder) {
        sql.push(" FROM inbox_item i WHERE i.user_id = ").bind(self.user);
        self.push_window(sql);
    }

    /// Adds the freshness columns `h` and, by ranges of types and states, the items `i`.
    fn push_ranges(self, sql: &mut SqlBuilder, catalogue: &Catalogue) {
        let Self { tenant, filter, .. } = self;
        let (order, page) = (self.sort_order(), self.row_limit());
        // This catalogue may be outdated. The caller checks the version and only then rejects unknown types.
        let is_chosen = |code: &String| filter.types.as_ref().is_none_or(|types| types.contains(code));
        let types: Vec<TypeId> =
            catalogue.types.iter().filter(|kind| is_chosen(&kind.code)).map(|kind| kind.id).collect();
        if filter.has_lookup() {
            sql.push(", (SELECT b.seq FROM (");
            self.push_branches(sql, &types, PASSED_OVER);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT 1 OFFSET ")).bind(PASSED_OVER - 1).push(")");
        } else {
            sql.push(", NULL");
        }
        sql.push(" AS walked_to FROM (");
        freshness::push_positions(sql, tenant, &[self.user], self.reach, &push_shown);
        sql.push(") h LEFT JOIN (");
        if filter.has_lookup() {
            sql.push("SELECT i.user_id, i.seq FROM (SELECT b.user_id, b.seq FROM (");
            self.push_branches(sql, &types, PASSED_OVER);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(PASSED_OVER).push(") i WHERE ");
            push_lookup(sql, tenant, filter);
            sql.push(&format!(" ORDER BY i.seq {order} LIMIT ")).bind(page);
        } else {
            sql.push("SELECT b.user_id, b.seq FROM (");
            self.push_branches(sql, &types, page);
            sql.push(&format!(") b ORDER BY b.seq {order} LIMIT ")).bind(page);
        }
        sql.push(") x ON x.user_id = h.h_user_id LEFT JOIN inbox_item i ON i.user_id = x.user_id AND i.seq = x.seq");
    }

    /// Adds the first items of each range of the requested types.
    fn push_branches(self, sql: &mut SqlBuilder, types: &[TypeId], many: i64) {
        let Self { store, user, filter, .. } = self;
        let branches = types
            .iter()
            .flat_map(|kind| ranges_of_side(filter.side, filter.read).iter().map(move |range| (*kind, *range)));
        for (place, (kind, range)) in branches.enumerate() {
            sql.push(if place > 0 { " UNION ALL " } else { "" });
            sql.push("SELECT user_id, seq FROM (SELECT i.user_id, i.seq FROM inbox_item i WHERE ");
            push_range(sql, SqlOperand::from(user), SqlOperand::from(kind), range, store.now());
            self.push_window(sql);
            sql.push(&format!(" ORDER BY i.seq {} LIMIT ", self.sort_order())).bind(many).push(&format!(") b{place}"));
        }
        if types.is_empty() {
            sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id = -1");
        }
    }

    /// Adds the bounds: between two items, between two instants, and up to the bound of the read.
    fn push_window(self, sql: &mut SqlBuilder) {
        let Self { tenant, filter, window, .. } = self;
        if let Some(seq) = window.older_than {
            sql.push(" AND i.seq < ").bind(seq);
        }
        if let Some(seq) = window.newer_than {
            sql.push(" AND i.seq > ").bind(seq);
        }
        push_instant(sql, tenant, ">=", filter.since);
        push_instant(sql, tenant, "<", filter.until);
        freshness::push_read_bound(sql, self.user.into(), "", self.reach);
    }
}

/// Publication times never decrease along the log, so a time bound is a bound of seqs: one probe of
/// `notification_published_at`. If a wrong clock left entries that are ahead, later entries are found by their own
/// times. If nothing was published at or after the instant, the bound is beyond every seq.
fn push_instant(sql: &mut SqlBuilder, tenant: &Tenant, side: &str, instant: Option<Millis>) {
    let Some(instant) = instant else { return };
    sql.push(&format!(" AND i.seq {side} COALESCE((SELECT f.seq FROM notification f WHERE f.tenant_id = "));
    sql.bind(tenant.id).push(" AND f.published_at >= ").bind(instant);
    sql.push(&format!(" ORDER BY f.published_at, f.seq LIMIT 1), {})", i64::MAX));
}

/// Adds that the notification of item `i` matches the filter: a probe of `notification_seq`.
fn push_lookup(sql: &mut SqlBuilder, tenant: &Tenant, filter: &ItemFilter) {
    let ItemFilter { kinds, target, action, sender, .. } = filter;
    sql.push("(");
    probe::push_query_begin(sql, "seq", tenant, "i.seq");
    if let Some(kinds) = kinds {
        let kinds: BTreeSet<NotificationKind> = kinds.iter().copied().collect();
        sql.push(" AND f.kind").push_list(&Vec::from_iter(kinds));
    }
    if let Some(target) = target {
        push_target(sql, "f", target);
    }
    if let Some(action) = action {
        sql.push(" AND f.action_id = ");
        probe::push_id_by_key(sql, tenant, "action", "code", action);
    }
    if let Some(sender) = sender {
        sql.push(" AND f.sender_id = ");
        probe::push_id_by_key(sql, tenant, "users", "external_id", sender);
    }
    probe::push_query_end(sql);
    sql.push(") IS NOT NULL");
}

/// Adds that a notification has this target.
pub fn push_target(sql: &mut SqlBuilder, alias: &str, target: &ActionTarget) {
    sql.push(&format!(" AND {alias}.target_type = ")).bind(target.target_type.clone());
    sql.push(&format!(" AND {alias}.target_id = ")).bind(target.id.clone());
}

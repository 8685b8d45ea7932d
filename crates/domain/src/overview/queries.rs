//! The SQL statement of an overview.

use std::sync::Arc;

use entity::columns;
use entity::ids::{TypeId, UserId};
use sea_orm::DbBackend;

use super::OverviewRequest;
use crate::catalogue::MessageType;
use crate::inbox::freshness::{self, InboxPosition, ReadBound, push_reader, push_versions};
use crate::inbox::item;
use crate::inbox::ranges::{InboxSide, ItemState, MarkPart, SqlOperand, StateRange, push_range, ranges_of_side};
use crate::tenant::Tenant;
use base::clock::Millis;
use model::cache_validator::InboxVersions;
use model::reader::ReaderLocale;
use store::{SqlBuilder, Store};

columns! {
    /// The counts of an inbox and of one of its types.
    #[derive(Debug)]
    pub struct OverviewCounts {
        pub unseen: Option<i64> = "h_unseen",
        /// `None` if there are no types.
        pub type_id: Option<TypeId> = "x_type_id",
        pub unread: Option<i64> = "x_unread",
    }
}

/// The first columns of a row: the freshness of an inbox, and one of its types. The newest item of that type follows,
/// and then the reader.
pub type OverviewRow = ((InboxPosition, InboxVersions), OverviewCounts);

/// For each inbox: its freshness (`h`) and, per type, the unread count and the newest item with its notification,
/// sender and action.
///
/// Per user and type, it counts one range of `inbox_item_state` and probes two ends, plus one more of each if the user
/// keeps any item unread. The rest are probes of primary keys. On PostgreSQL, counting a range also yields its newest
/// item (`f`).
pub fn overview_query(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    types: &[Arc<MessageType>],
    wish: &OverviewRequest,
    (reach, now): (ReadBound, Millis),
) -> SqlBuilder {
    let counted = CountOptions { cap: wish.cap, reach, now };
    let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<((OverviewRow, item::ItemWithContent), ReaderLocale)>().push(" FROM ");
    let push_standing = |sql: &mut SqlBuilder| {
        sql.push("(");
        freshness::push_positions(sql, tenant, users, reach, &|sql, user| {
            push_versions(sql, user);
            push_reader(sql);
            push_has_kept(sql, user);
            if wish.unseen {
                push_unseen(sql, user, &ids, counted);
            } else {
                sql.push(", NULL AS h_unseen");
            }
        });
        sql.push(") h");
    };
    if ids.is_empty() {
        sql.push("(SELECT h.*, NULL AS x_type_id, NULL AS x_unread, 0 AS x_latest FROM ");
        push_standing(&mut sql);
        sql.push(") h");
    } else if sql.backend() == DbBackend::MySql {
        push_standing(&mut sql);
        sql.push(" LEFT JOIN (");
        push_pairs(&mut sql, users, &ids, counted);
        sql.push(") x ON x.x_user_id = h.h_user_id");
    } else {
        // Sub-selects, not joins: with a join, PostgreSQL would compute all of them for each user.
        sql.push("(SELECT h.*, t.id AS x_type_id, ");
        push_unread(&mut sql, SqlOperand::Column("h.h_user_id"), SqlOperand::Column("t.id"), counted);
        sql.push(" AS x_unread, ");
        push_latest(&mut sql, SqlOperand::Column("h.h_user_id"), SqlOperand::Column("t.id"), counted);
        sql.push(" AS x_latest FROM ");
        push_standing(&mut sql);
        sql.push(" LEFT JOIN message_type t ON t.tenant_id = ").bind(tenant.id).push(" AND t.id").push_list(&ids);
        if has_fresh(&sql) {
            push_fresh(&mut sql, counted);
        }
        sql.push(") h");
    }
    sql.push(" LEFT JOIN inbox_item i ON i.user_id = h.h_user_id AND i.seq = x_latest");
    item::push_joins(&mut sql, tenant);
    sql
}

/// The count limit, the read bound and the time of a count.
#[derive(Clone, Copy)]
struct CountOptions {
    cap: Option<i64>,
    reach: ReadBound,
    now: Millis,
}

/// Adds a branch for each user and type, because MySQL uses index ranges only with constant bounds.
fn push_pairs(sql: &mut SqlBuilder, users: &[UserId], types: &[TypeId], counted: CountOptions) {
    let pairs = users.iter().flat_map(|user| types.iter().map(move |kind| (*user, *kind)));
    for (place, (user, kind)) in pairs.enumerate() {
        sql.push(if place > 0 { " UNION ALL SELECT " } else { "SELECT " });
        sql.bind(user).push(" AS x_user_id, ").bind(kind).push(" AS x_type_id, ");
        push_unread(sql, user.into(), kind.into(), counted);
        sql.push(" AS x_unread, ");
        push_latest(sql, user.into(), kind.into(), counted);
        sql.push(" AS x_latest");
    }
}

/// Adds whether the user keeps any item unread: a probe of `inbox_item_kept`, which MySQL lacks.
fn push_has_kept(sql: &mut SqlBuilder, user: SqlOperand<'_>) {
    if let SqlOperand::Column(user) = user {
        sql.push(", CASE WHEN (SELECT k.user_id FROM inbox_item k WHERE k.user_id = ").push(user);
        sql.push(&format!(
            " AND k.state = {} LIMIT 1) IS NULL THEN 0 ELSE 1 END AS h_keeps",
            ItemState::KeptUnread as i16
        ));
    }
}

/// Adds a number from a range. Adds 0 without a read if the user keeps no items unread, or if `f` has the fresh number.
fn push_of_range(sql: &mut SqlBuilder, user: SqlOperand<'_>, (state, _): StateRange, push: &dyn Fn(&mut SqlBuilder)) {
    let spared = match (state, user) {
        (ItemState::KeptUnread, SqlOperand::Column(_)) => Some("h.h_keeps = 0"),
        (ItemState::Fresh, _) if has_fresh(sql) => Some("f.many > 0"),
        _ => None,
    };
    if let Some(condition) = spared {
        sql.push("CASE WHEN ").push(condition).push(" THEN 0 ELSE ");
    }
    push(sql);
    sql.push(if spared.is_some() { " END" } else { "" });
}

/// Unread items that were never marked: nearly all unread items.
const FRESH: StateRange = (ItemState::Fresh, MarkPart::AboveMark);

/// Whether the statement has `f`: only PostgreSQL supports `LATERAL` here.
fn has_fresh(sql: &SqlBuilder) -> bool {
    sql.backend() == DbBackend::Postgres
}

/// Joins `f`: the count and the newest item of [`FRESH`] for user `h` and type `t`, from one walk. A separate walk and
/// probe make an overview a quarter more expensive on PostgreSQL.
fn push_fresh(sql: &mut SqlBuilder, counted: CountOptions) {
    sql.push(
        " LEFT JOIN LATERAL (SELECT count(*) AS many, max(r.seq) AS seq FROM (SELECT i.seq FROM inbox_item i WHERE ",
    );
    counted.push_range(sql, SqlOperand::Column("h.h_user_id"), SqlOperand::Column("t.id"), FRESH);
    if let Some(cap) = counted.cap {
        sql.push(" ORDER BY i.seq DESC LIMIT ").bind(cap.saturating_add(1));
    }
    sql.push(") r) f ON true");
}

fn push_unread(sql: &mut SqlBuilder, user: SqlOperand<'_>, kind: SqlOperand<'_>, counted: CountOptions) {
    for (place, range) in ranges_of_side(InboxSide::Inbox, Some(false)).iter().enumerate() {
        sql.push(if place > 0 { " + " } else { "" });
        if *range == FRESH && has_fresh(sql) {
            sql.push("f.many");
            continue;
        }
        push_of_range(sql, user, *range, &|sql| {
            push_count(sql, counted.cap, &|sql| counted.push_range(sql, user, kind, *range));
        });
    }
}

/// Adds the number of items that arrived after the user last saw the inbox: a range at the end of `inbox_item`'s key,
/// with nothing else in it.
fn push_unseen(sql: &mut SqlBuilder, user: SqlOperand<'_>, types: &[TypeId], counted: CountOptions) {
    sql.push(", ");
    push_count(sql, counted.cap, &|sql| {
        sql.push("i.user_id = ");
        user.push(sql);
        sql.push(" AND i.seq > ");
        match user {
            SqlOperand::Column(_) => {
                sql.push("u.seen_seq");
            }
            SqlOperand::Constant(user) => {
                sql.push("(SELECT c.seen_seq FROM users c WHERE c.id = ").bind(user).push(")");
            }
        }
        sql.push(" AND i.type_id").push_list(types).push(" AND i.state IN (");
        for (place, (state, _)) in ranges_of_side(InboxSide::Inbox, None).iter().enumerate() {
            sql.push(if place > 0 { ", " } else { "" }).push(&(*state as i16).to_string());
        }
        sql.push(") AND (i.expires_at IS NULL OR i.expires_at > ").bind(counted.now).push(")");
        freshness::push_read_bound(sql, user, "u.cursor_seq", counted.reach);
    });
    sql.push(" AS h_unseen");
}

impl CountOptions {
    /// Adds that `i` is in a range, up to the bound of the read.
    fn push_range(self, sql: &mut SqlBuilder, user: SqlOperand<'_>, kind: SqlOperand<'_>, range: StateRange) {
        push_range(sql, user, kind, range, self.now);
        freshness::push_read_bound(sql, user, "h.h_cursor_seq", self.reach);
    }
}

/// Counts the items that meet a condition, up to one more than the cap.
fn push_count(sql: &mut SqlBuilder, cap: Option<i64>, condition: &dyn Fn(&mut SqlBuilder)) {
    match cap {
        None => {
            sql.push("(SELECT count(*) FROM inbox_item i WHERE ");
            condition(sql);
            sql.push(")");
        }
        Some(cap) => {
            sql.push("(SELECT count(*) FROM (SELECT 1 FROM inbox_item i WHERE ");
            condition(sql);
            sql.push(" LIMIT ").bind(cap.saturating_add(1)).push(") c)");
        }
    }
}

fn push_latest(sql: &mut SqlBuilder, user: SqlOperand<'_>, kind: SqlOperand<'_>, counted: CountOptions) {
    let (greatest, has_fresh) = (sql.greatest_function(), has_fresh(sql));
    sql.push(greatest).push(if has_fresh { "(f.seq" } else { "(0" });
    for range in ranges_of_side(InboxSide::Inbox, None) {
        sql.push(", ");
        push_of_range(sql, user, *range, &|sql| {
            sql.push("COALESCE((SELECT i.seq FROM inbox_item i WHERE ");
            counted.push_range(sql, user, kind, *range);
            sql.push(if has_fresh { " AND i.seq > COALESCE(f.seq, 0)" } else { "" });
            sql.push(" ORDER BY i.seq DESC LIMIT 1), 0)");
        });
    }
    sql.push(")");
}

//! The SQL statement of an overview.

use std::sync::Arc;

use entity::columns;
use entity::ids::{TypeId, UserId};
use sea_orm::DbBackend;

use super::Wish;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::catalogue::MessageType;
use crate::domain::inbox::item;
use crate::domain::inbox::shelf::{Part, Place, Range, Side, State, push_range, ranges};
use crate::domain::inbox::standing::{self, Reach, Standing, push_stamp};
use crate::domain::tenant::Tenant;
use crate::model::proof::Stamp;

columns! {
    /// The counts of an inbox and of one of its types.
    #[derive(Debug)]
    pub struct Counts {
        pub unseen: Option<i64> = "h_unseen",
        /// `None` if there are no types.
        pub type_id: Option<TypeId> = "x_type_id",
        pub unread: Option<i64> = "x_unread",
    }
}

/// The first columns of a row: the freshness of an inbox, and one of its types. The newest item of that type follows.
pub type Row = ((Standing, Stamp), Counts);

/// For each inbox: its freshness (`h`) and, per type, the unread count and the newest item with its notification,
/// sender and action.
///
/// Per user and type, it counts one range of `inbox_item_state` and probes two ends, plus one more of each if the user
/// keeps any item unread. The rest are probes of primary keys. On PostgreSQL, counting a range also yields its newest
/// item (`f`).
pub fn statement(
    app: &App,
    tenant: &Tenant,
    users: &[UserId],
    types: &[Arc<MessageType>],
    wish: &Wish,
    (reach, now): (Reach, Millis),
) -> Sql {
    let counted = Counted { cap: wish.cap, reach, now };
    let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").columns::<(Row, item::Whole)>().push(" FROM ");
    let push_standing = |sql: &mut Sql| {
        sql.push("(");
        standing::push(sql, tenant, users, reach, &|sql, user| {
            push_stamp(sql, user);
            push_keeps(sql, user);
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
        push_unread(&mut sql, Place::Column("h.h_user_id"), Place::Column("t.id"), counted);
        sql.push(" AS x_unread, ");
        push_latest(&mut sql, Place::Column("h.h_user_id"), Place::Column("t.id"), counted);
        sql.push(" AS x_latest FROM ");
        push_standing(&mut sql);
        sql.push(" LEFT JOIN message_type t ON t.tenant_id = ").bind(tenant.id).push(" AND t.id").among(&ids);
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
struct Counted {
    cap: Option<i64>,
    reach: Reach,
    now: Millis,
}

/// Adds a branch for each user and type, because MySQL uses index ranges only with constant bounds.
fn push_pairs(sql: &mut Sql, users: &[UserId], types: &[TypeId], counted: Counted) {
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
fn push_keeps(sql: &mut Sql, user: Place<'_>) {
    if let Place::Column(user) = user {
        sql.push(", CASE WHEN (SELECT k.user_id FROM inbox_item k WHERE k.user_id = ").push(user);
        sql.push(&format!(" AND k.state = {} LIMIT 1) IS NULL THEN 0 ELSE 1 END AS h_keeps", State::KeptUnread as i16));
    }
}

/// Adds a number from a range. Adds 0 without a read if the user keeps no items unread, or if `f` has the fresh number.
fn push_of_range(sql: &mut Sql, user: Place<'_>, (state, _): Range, push: &dyn Fn(&mut Sql)) {
    let spared = match (state, user) {
        (State::KeptUnread, Place::Column(_)) => Some("h.h_keeps = 0"),
        (State::Fresh, _) if has_fresh(sql) => Some("f.many > 0"),
        _ => None,
    };
    if let Some(condition) = spared {
        sql.push("CASE WHEN ").push(condition).push(" THEN 0 ELSE ");
    }
    push(sql);
    sql.push(if spared.is_some() { " END" } else { "" });
}

/// Unread items that were never marked: nearly all unread items.
const FRESH: Range = (State::Fresh, Part::AboveMark);

/// Whether the statement has `f`: only PostgreSQL supports `LATERAL` here.
fn has_fresh(sql: &Sql) -> bool {
    sql.backend() == DbBackend::Postgres
}

/// Joins `f`: the count and the newest item of [`FRESH`] for user `h` and type `t`, from one walk. A separate walk and
/// probe make an overview a quarter more expensive on PostgreSQL.
fn push_fresh(sql: &mut Sql, counted: Counted) {
    sql.push(
        " LEFT JOIN LATERAL (SELECT count(*) AS many, max(r.seq) AS seq FROM (SELECT i.seq FROM inbox_item i WHERE ",
    );
    counted.push_range(sql, Place::Column("h.h_user_id"), Place::Column("t.id"), FRESH);
    if let Some(cap) = counted.cap {
        sql.push(" ORDER BY i.seq DESC LIMIT ").bind(cap.saturating_add(1));
    }
    sql.push(") r) f ON true");
}

fn push_unread(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, counted: Counted) {
    for (place, range) in ranges(Side::Inbox, Some(false)).iter().enumerate() {
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
fn push_unseen(sql: &mut Sql, user: Place<'_>, types: &[TypeId], counted: Counted) {
    sql.push(", ");
    push_count(sql, counted.cap, &|sql| {
        sql.push("i.user_id = ");
        user.push(sql);
        sql.push(" AND i.seq > ");
        match user {
            Place::Column(_) => {
                sql.push("u.seen_seq");
            }
            Place::Constant(user) => {
                sql.push("(SELECT c.seen_seq FROM users c WHERE c.id = ").bind(user).push(")");
            }
        }
        sql.push(" AND i.type_id").among(types).push(" AND i.state IN (");
        for (place, (state, _)) in ranges(Side::Inbox, None).iter().enumerate() {
            sql.push(if place > 0 { ", " } else { "" }).push(&(*state as i16).to_string());
        }
        sql.push(") AND (i.expires_at IS NULL OR i.expires_at > ").bind(counted.now).push(")");
        standing::push_cut(sql, user, "u.cursor_seq", counted.reach);
    });
    sql.push(" AS h_unseen");
}

impl Counted {
    /// Adds that `i` is in a range, up to the bound of the read.
    fn push_range(self, sql: &mut Sql, user: Place<'_>, kind: Place<'_>, range: Range) {
        push_range(sql, user, kind, range, self.now);
        standing::push_cut(sql, user, "h.h_cursor_seq", self.reach);
    }
}

/// Counts the items that meet a condition, up to one more than the cap.
fn push_count(sql: &mut Sql, cap: Option<i64>, condition: &dyn Fn(&mut Sql)) {
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

fn push_latest(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, counted: Counted) {
    let (greatest, has_fresh) = (sql.greatest(), has_fresh(sql));
    sql.push(greatest).push(if has_fresh { "(f.seq" } else { "(0" });
    for range in ranges(Side::Inbox, None) {
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

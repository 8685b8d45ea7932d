//! The one statement of an overview.

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
    /// What is counted of an inbox, and of one of its types.
    #[derive(Debug)]
    pub struct Counts {
        pub unseen: Option<i64> = "h_unseen",
        /// Nothing where there are no types.
        pub type_id: Option<TypeId> = "x_type_id",
        pub unread: Option<i64> = "x_unread",
    }
}

/// What a row of it begins with: where an inbox stands, and one of its types. After that comes the newest item of this one, whole.
pub type Row = ((Standing, Stamp), Counts);

/// The one statement: where each inbox stands (`h`), for each of its types the unread count and the newest seq, and that
/// item with its notification, sender and action.
///
/// Per user and type one range of `inbox_item_state` is counted and two ends of it are probed, and one more of each where the user keeps anything
/// unread; what follows are probes of primary keys. On PostgreSQL a range that is counted gives its newest item as well (`f`).
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
        // Computed beside the user, not joined to them: PostgreSQL would compute all of them for each of the users.
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

/// Which items count, and how many of them at the most.
#[derive(Clone, Copy)]
struct Counted {
    cap: Option<i64>,
    reach: Reach,
    now: Millis,
}

/// A branch for each user and type, for MySQL uses ranges only where it sees constants.
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

/// Adds whether anything is kept unread: a probe of `inbox_item_kept`, which MySQL has not.
fn push_keeps(sql: &mut Sql, user: Place<'_>) {
    if let Place::Column(user) = user {
        sql.push(", CASE WHEN (SELECT k.user_id FROM inbox_item k WHERE k.user_id = ").push(user);
        sql.push(&format!(" AND k.state = {} LIMIT 1) IS NULL THEN 0 ELSE 1 END AS h_keeps", State::KeptUnread as i16));
    }
}

/// Adds a number that a range gives, or 0 without a look: of what is kept unread where there is none, of fresh items where `f` says it.
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

/// What is unread unless it is kept so: nearly all of it.
const FRESH: Range = (State::Fresh, Part::AboveMark);

/// Whether there is `f`: only PostgreSQL joins what is computed of a row.
fn has_fresh(sql: &Sql) -> bool {
    sql.backend() == DbBackend::Postgres
}

/// Joins `f`, what is in [`FRESH`] of the user `h` and the type `t`: how many, and the newest, by one walk. A walk and a probe of their own
/// cost PostgreSQL a quarter more for an overview.
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

/// What arrived after the inbox was last seen: a range of `inbox_item`'s key, which holds nothing else once somebody
/// has looked.
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
    /// Adds that `i` is in a range, up to where is read.
    fn push_range(self, sql: &mut Sql, user: Place<'_>, kind: Place<'_>, range: Range) {
        push_range(sql, user, kind, range, self.now);
        standing::push_cut(sql, user, "h.h_cursor_seq", self.reach);
    }
}

/// Counts the items of a condition, up to one above the cap.
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

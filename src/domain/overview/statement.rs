//! The one statement of an overview.

use std::sync::Arc;

use entity::ids::{TypeId, UserId};
use entity::prelude::FromQueryResult;
use sea_orm::DbBackend;

use super::Wish;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::catalogue::MessageType;
use crate::domain::inbox::item;
use crate::domain::inbox::shelf::{Place, Range, Side, push_range, ranges};
use crate::domain::inbox::standing::{self, Reach, STAMP_COLUMNS, Standing, push_stamp};
use crate::domain::tenant::Tenant;
use crate::model::proof::Stamp;

/// A row of it: where an inbox stands, and one of its types. What is shown of that one's newest item is read where it has not
/// been already, by [`Contents`](item::Contents).
#[derive(Debug, FromQueryResult)]
pub struct Row {
    #[sea_orm(nested)]
    pub standing: Standing,
    #[sea_orm(nested)]
    pub stamp: Stamp,
    pub h_unseen: Option<i64>,
    /// Nothing where there are no types.
    pub x_type_id: Option<TypeId>,
    pub x_unread: Option<i64>,
    /// The newest item's, if there is one.
    pub item_notification: Option<i64>,
    /// Who sent it, and the version of their profile.
    pub s_id: Option<UserId>,
    pub s_version: Option<i64>,
}

/// The one statement: where each inbox stands (`h`), for each of its types the unread count and the newest seq, and that
/// item with its notification, sender and action.
///
/// Per user and type two ranges of `inbox_item_state` are counted and three ends of it are probed; what follows are
/// probes of primary keys.
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
    sql.push("SELECT ").push(standing::COLUMNS).push(", ").push(STAMP_COLUMNS);
    sql.push(", h_unseen, x_type_id, x_unread, s.profile_version AS s_version, ");
    item::push_columns(&mut sql);
    sql.push(" FROM ");
    let push_standing = |sql: &mut Sql| {
        sql.push("(");
        standing::push(sql, tenant, users, reach, &|sql, user| {
            push_stamp(sql, user);
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

fn push_unread(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, counted: Counted) {
    for (place, range) in ranges(Side::Inbox, Some(false)).iter().enumerate() {
        sql.push(if place > 0 { " + " } else { "" });
        push_count(sql, counted.cap, &|sql| counted.push_range(sql, user, kind, *range));
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
    let greatest = sql.greatest();
    sql.push(greatest).push("(");
    for (place, range) in ranges(Side::Inbox, None).iter().enumerate() {
        sql.push(if place > 0 { ", " } else { "" }).push("COALESCE((SELECT i.seq FROM inbox_item i WHERE ");
        counted.push_range(sql, user, kind, *range);
        sql.push(" ORDER BY i.seq DESC LIMIT 1), 0)");
    }
    sql.push(")");
}

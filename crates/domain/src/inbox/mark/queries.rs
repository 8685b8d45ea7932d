//! Finds and writes the items to mark: ranges of `inbox_item_state`, and items by `inbox_item`'s key.

use std::collections::BTreeMap;

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::FromQueryResult;
use entity::statement::pad_list;
use sea_orm::sea_query::ArrayType;
use sea_orm::{ConnectionTrait, DbBackend, Value};

use super::transitions::{ItemUpdate, StateTransition, TimeUpdate};
use crate::inbox::list::push_target;
use crate::inbox::ranges::{ItemState, MarkPart, push_range};
use crate::tenant::Tenant;
use crate::{counters, probe};
use base::clock::Millis;
use model::channel::ActionTarget;
use store::SqlBuilder;

/// The unread items of a type. Without counting, each number is 1 if there are any.
#[derive(Debug, FromQueryResult)]
pub struct UnreadCounts {
    pub type_id: TypeId,
    /// Never marked, and above the newest read mark.
    pub fresh: i64,
    /// Marked as unread, regardless of the read mark.
    pub kept: i64,
    /// The newest read mark.
    pub mark: Seq,
}

/// Counts the unread items of each type up to a log position, or only checks whether there are any. Each type is one
/// branch of two ranges and a probe of `read_mark`'s key, because MySQL uses ranges only with constant bounds. On
/// PostgreSQL it also marks the fresh items as read: see [`can_mark_in_select`].
pub fn select_unread(
    db: &impl ConnectionTrait,
    (user, kinds): (UserId, &[TypeId]),
    up_to: Seq,
    is_counted: bool,
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    if !can_mark_in_select(db) {
        push_unread(&mut sql, (user, kinds), up_to, is_counted, now);
        return sql;
    }
    sql.push("WITH r AS (");
    push_unread(&mut sql, (user, kinds), up_to, is_counted, now);
    sql.push("), s AS (");
    counters::push_insert_spans(&mut sql, user, up_to, now);
    sql.push("), m AS (INSERT INTO read_mark (user_id, type_id, read_upto, read_at) SELECT ").bind(user);
    sql.push(", r.type_id, ").bind(up_to).push(", ").bind(now);
    sql.push(
        " FROM r WHERE r.fresh > 0 ON CONFLICT DO NOTHING), v AS (UPDATE users SET version = version + 1 WHERE id = ",
    );
    sql.bind(user).push(" AND EXISTS (SELECT 1 FROM r WHERE r.fresh > 0)) SELECT * FROM r");
    sql
}

/// Whether [`select_unread`] also raises the read marks of types with fresh items, records the counter spans and
/// increments the version of the user's row. PostgreSQL can change tables in the statement that counts.
pub fn can_mark_in_select(db: &impl ConnectionTrait) -> bool {
    db.get_database_backend() == DbBackend::Postgres
}

fn push_unread(sql: &mut SqlBuilder, (user, kinds): (UserId, &[TypeId]), up_to: Seq, is_counted: bool, now: Millis) {
    for (place, kind) in kinds.iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL SELECT " } else { "SELECT " });
        for (name, range) in
            [("fresh", (ItemState::Fresh, MarkPart::AboveMark)), ("kept", (ItemState::KeptUnread, MarkPart::All))]
        {
            let (select, end) = if is_counted { ("", "") } else { ("(SELECT 1 FROM ", " LIMIT 1) c") };
            sql.push("(SELECT count(*) FROM ").push(select).push("inbox_item i WHERE ");
            push_range(sql, user.into(), (*kind).into(), range, now);
            sql.push(" AND i.seq <= ").bind(up_to).push(&format!("{end}) AS {name}, "));
        }
        sql.push("COALESCE((SELECT MAX(m.read_upto) FROM read_mark m WHERE m.user_id = ").bind(user);
        sql.push(" AND m.type_id = ")
            .bind(*kind)
            .push("), 0) AS mark, t.id AS type_id FROM message_type t WHERE t.id = ");
        sql.bind(*kind);
    }
}

/// An item that a step changes.
#[derive(Debug, FromQueryResult)]
pub struct MatchingItem {
    pub seq: Seq,
}

/// The items of a type, up to a log position, that a step changes: a range, plus a probe of `notification_seq` for each
/// item if there is a target.
pub fn select_matching(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (user, kind): (UserId, TypeId),
    (step, up_to, target): (&StateTransition, Seq, Option<&ActionTarget>),
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT i.seq FROM inbox_item i");
    if let Some(target) = target {
        probe::push_join_at(&mut sql, " JOIN", tenant, "i.seq");
        push_target(&mut sql, "n", target);
    }
    sql.push(" WHERE ");
    push_range(&mut sql, user.into(), kind.into(), (step.from, step.part), now);
    sql.push(" AND i.seq <= ").bind(up_to);
    sql
}

/// An item before its mark.
#[derive(Debug, FromQueryResult)]
pub struct ItemBeforeMark {
    pub user_id: UserId,
    pub seq: Seq,
    pub type_id: TypeId,
    pub state: ItemState,
    /// 1 if the newest read mark of its type is at or beyond the item.
    pub is_up_to_mark: i32,
    /// 1 if the user has counter spans to flush first.
    pub has_spans: i32,
}

/// The requested items that have not expired. Each costs a probe of the keys of `inbox_item`, `read_mark` and
/// `tally_span`.
pub fn select_items(db: &impl ConnectionTrait, items: &[(UserId, Seq)], now: Millis) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT i.user_id, i.seq, i.type_id, i.state, CASE WHEN i.seq <= COALESCE((SELECT MAX(m.read_upto) ");
    sql.push("FROM read_mark m WHERE m.user_id = i.user_id AND m.type_id = i.type_id), 0) THEN 1 ELSE 0 END ");
    sql.push("AS is_up_to_mark, CASE WHEN (SELECT s.user_id FROM tally_span s WHERE s.user_id = i.user_id LIMIT 1) ");
    sql.push("IS NULL THEN 0 ELSE 1 END AS has_spans FROM inbox_item i WHERE ");
    push_item_keys(&mut sql, "i.", items);
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")");
    sql
}

/// A user with a locked row.
#[derive(Debug, FromQueryResult)]
pub struct LockedVersion {
    pub id: UserId,
    /// The new version.
    pub version: i64,
}

/// Locks the users' rows by incrementing their versions. Leaves out rows that another transaction has locked, and users
/// who have not synced the tenant's newest amendment yet. MySQL cannot return changed rows: there it only locks, and
/// the caller increments.
pub fn lock_and_increment(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    let push_free = |sql: &mut SqlBuilder| {
        sql.push("u.id").push_list(users).push(" AND u.tenant_id + 0 = ").bind(tenant.id);
        sql.push(" AND u.cursor_seq >= (SELECT t.amended_seq FROM tenant t WHERE t.id = ").bind(tenant.id).push(")");
    };
    match sql.backend() {
        DbBackend::Postgres => {
            sql.push("UPDATE users SET version = version + 1 WHERE id = ANY(ARRAY(SELECT u.id FROM users u WHERE ");
            push_free(&mut sql);
            sql.push(" ORDER BY u.id").for_update_skip_locked().push(")) RETURNING id, version");
        }
        DbBackend::Sqlite => {
            sql.push("UPDATE users AS u SET version = version + 1 WHERE ");
            push_free(&mut sql);
            sql.push(" RETURNING id, version");
        }
        _ => {
            sql.push("SELECT u.id, u.version + 1 AS version FROM users u WHERE ");
            push_free(&mut sql);
            sql.push(" ORDER BY u.id").for_update_skip_locked();
        }
    }
    sql
}

/// Whether [`write_items`] also records reads and unreads in the counters: PostgreSQL changes two tables in one
/// statement.
pub fn can_count_in_update(db: &impl ConnectionTrait) -> bool {
    db.get_database_backend() == DbBackend::Postgres
}

/// Writes the new state of items, or deletes them.
pub fn write_items(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    items: &[(UserId, Seq)],
    put: ItemUpdate,
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    let Some(to) = put.to else {
        sql.push("DELETE FROM inbox_item WHERE ");
        push_item_keys(&mut sql, "", items);
        return sql;
    };
    let tells = put.makes_read != 0 && can_count_in_update(db);
    sql.push(if tells { "WITH m AS (" } else { "" });
    sql.push(&format!("UPDATE inbox_item SET state = {}", to as i16));
    for (column, instant) in [("read_at", put.read_at), ("archived_at", put.archived_at)] {
        match instant {
            TimeUpdate::Kept => {}
            TimeUpdate::Now => drop(sql.push(&format!(", {column} = ")).bind(now)),
            TimeUpdate::Gone => drop(sql.push(&format!(", {column} = NULL"))),
        }
    }
    sql.push(" WHERE ");
    push_item_keys(&mut sql, "", items);
    if tells {
        sql.push(" RETURNING user_id, seq) ");
        counters::push_insert_tallies(&mut sql, tenant, put.makes_read, now);
    }
    sql
}

/// Adds that an item is one of these, at most [`entity::prelude::LIST`], in the form for which each database uses the
/// key.
fn push_item_keys(sql: &mut SqlBuilder, alias: &str, items: &[(UserId, Seq)]) {
    match sql.backend() {
        DbBackend::Postgres => {
            let array = |numbers: Vec<i64>| {
                let numbers = numbers.into_iter().map(Value::from).collect();
                Value::Array(ArrayType::BigInt, Some(Box::new(numbers)))
            };
            let (users, seqs) = items.iter().map(|(user, seq)| (user.0, seq.0)).unzip();
            sql.push(&format!("({alias}user_id, {alias}seq) IN (SELECT x.user_id, x.seq FROM unnest("));
            sql.bind(array(users)).push("::bigint[], ").bind(array(seqs)).push("::bigint[]) AS x (user_id, seq))");
        }
        DbBackend::Sqlite => {
            let mut of_users: BTreeMap<UserId, Vec<Seq>> = BTreeMap::new();
            for (user, seq) in items {
                of_users.entry(*user).or_default().push(*seq);
            }
            for (place, (user, seqs)) in of_users.into_iter().enumerate() {
                sql.push(if place > 0 { " OR " } else { "(" });
                sql.push(&format!("({alias}user_id = ")).bind(user).push(&format!(" AND {alias}seq"));
                sql.push_list(&seqs).push(")");
            }
            sql.push(")");
        }
        _ => {
            let (users, seqs): (Vec<UserId>, Vec<Seq>) = items.iter().copied().unzip();
            sql.push(&format!("({alias}user_id, {alias}seq) IN ("));
            for (place, (user, seq)) in pad_list(&users).into_iter().zip(pad_list(&seqs)).enumerate() {
                sql.push(if place > 0 { ", (" } else { "(" }).bind(user).push(", ").bind(seq).push(")");
            }
            sql.push(")");
        }
    }
}

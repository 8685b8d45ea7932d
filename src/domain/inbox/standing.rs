//! Whether an inbox is behind the log: the question before every read.
//!
//! What is shown of an inbox is the inbox as of one place in the log. Where it is not behind, that is the log's end in the
//! moment of the statement. Where it was, it has been synced since, but the log may have gone on, and what is addressed to a
//! user by name comes into an inbox without a sync: so it is cut at its cursor, up to which all is there.

use std::iter::repeat_n;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use sea_orm::{DbBackend, QueryResult};

use super::shelf::Place;
use super::{amend, sync};
use crate::app::App;
use crate::database::Party;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::{Tenant, head};
use crate::error::Result;
use crate::sql::Sql;

/// Entries of the log after which a cursor is moved although none of them was for the user, so that the next
/// question does not look at them again.
pub const IDLE_GAP: i64 = 1000;

/// Where an inbox stood in the moment of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub user: UserId,
    /// Something was published for the user that his inbox has not got.
    pub is_behind: bool,
    /// The inbox is complete up to here: to the end of the log, unless it is behind or cut.
    pub complete_upto: Seq,
    /// Of the catalogue that the rest of the statement saw.
    pub catalogue_version: i64,
}

impl Standing {
    /// The columns of [`push`].
    pub fn read(row: &QueryResult) -> Result<Self> {
        let is_behind = row.try_get::<i32>("", "h_behind")? == 1;
        Ok(Self {
            user: row.try_get("", "h_user_id")?,
            is_behind,
            complete_upto: row.try_get("", if is_behind { "h_cursor_seq" } else { "h_last_seq" })?,
            catalogue_version: row.try_get("", "h_version")?,
        })
    }
}

/// How far a statement reads inboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the end of the log, and whether anything is missing is asked along with it.
    End,
    /// The same where it is known already that nothing is missing. Most of what the question costs PostgreSQL is to get ready for
    /// it where it is then not asked.
    KnownEnd,
    /// To the cursor, which a sync has just moved.
    Cursor,
}

/// What is to be done with what a statement read.
#[derive(Debug)]
pub enum Verdict {
    /// It can be shown.
    Stands,
    /// It was read by another catalogue than this one, by which it is to be read again.
    Outdated(Arc<Catalogue>),
    /// These inboxes, in the order of their ids, were behind. They have been synced, and are to be read again, up to their
    /// cursors.
    WereBehind(Vec<UserId>),
}

/// Decides whether what a statement read can be shown. If not, does what is missing: reads the newer catalogue, or syncs
/// the inboxes that are behind.
///
/// Inboxes are synced once a request: what is sent meanwhile comes after it, and a busy user is not kept waiting.
pub async fn check(app: &App, tenant: &Tenant, standings: &[Standing], catalogue: &Arc<Catalogue>) -> Result<Verdict> {
    if let Some(end) = standings.iter().map(|of| of.complete_upto).max() {
        tenant.saw(end);
    }
    if standings.is_empty() {
        // They were erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    let version = standings.iter().map(|of| of.catalogue_version).max().unwrap_or(catalogue.version);
    if version != catalogue.version {
        return Ok(Verdict::Outdated(catalogue::at(app, tenant, version).await?));
    }
    let mut behind: Vec<UserId> = standings.iter().filter(|of| of.is_behind).map(|of| of.user).collect();
    if behind.is_empty() {
        return Ok(Verdict::Stands);
    }
    behind.sort_unstable();
    behind.dedup();
    caught_up(app, tenant, &behind).await?;
    Ok(Verdict::WereBehind(behind))
}

/// Syncs inboxes, for users who wait for it. Returns how far all of them came.
pub async fn caught_up(app: &App, tenant: &Tenant, behind: &[UserId]) -> Result<Seq> {
    let synced = sync::caught_up(app, tenant, behind);
    match behind {
        // Whoever else asks for the same inbox, where its row is held, has no more than one user's share of the connections.
        [only] => Party::user(tenant.id, &format!("inbox {only}")).does(synced).await,
        _ => synced.await,
    }
}

/// The end of the publications `p` of a channel that a subscription `s` is to: one probe of `publication`'s key.
///
/// Not MAX, for which MariaDB reads the whole channel where it is not a constant.
pub const NEWEST: &str =
    "(SELECT p.seq FROM publication p WHERE p.channel_id = s.channel_id ORDER BY p.seq DESC LIMIT 1)";

/// As many users as a power of two on MySQL, where [`push`] makes a branch for each, the first one again and again: so there
/// are few different statements.
pub fn pad(sql: &Sql, users: &mut Vec<UserId>) {
    if sql.backend() == DbBackend::MySql {
        users.extend(repeat_n(users[0], users.len().next_power_of_two() - users.len()));
    }
}

/// The columns that [`push`] gives to a table `h`, for a statement's SELECT.
pub const COLUMNS: &str = "h.h_user_id, h.h_behind, h.h_cursor_seq, h.h_last_seq, h.h_version";

/// Adds a sub-select with one row for each of the users, and `extra` as more columns of it.
///
/// Its LIMIT keeps the planners from merging it with the rest, where it would be asked again for every row.
pub fn push(sql: &mut Sql, tenant: &Tenant, users: &[UserId], reach: Reach, extra: &dyn Fn(&mut Sql, Place<'_>)) {
    let one = |sql: &mut Sql, user: Place<'_>, which: &dyn Fn(&mut Sql)| {
        let end = if reach == Reach::Cursor { "u.cursor_seq" } else { "t.last_seq" };
        sql.push(&format!("SELECT u.id AS h_user_id, u.cursor_seq AS h_cursor_seq, {end} AS h_last_seq, "));
        sql.push("t.catalogue_version AS h_version, ");
        match reach {
            Reach::End => push_behind(sql, tenant, user),
            Reach::KnownEnd | Reach::Cursor => drop(sql.push("0")),
        }
        sql.push(" AS h_behind");
        extra(sql, user);
        sql.push(" FROM users u JOIN tenant t ON t.id = u.tenant_id WHERE t.id = ").bind(tenant.id);
        sql.push(" AND u.id");
        which(sql);
    };
    if sql.backend() == DbBackend::MySql {
        for (place, user) in users.iter().enumerate() {
            sql.push(if place > 0 { " UNION ALL (" } else { "(" });
            one(sql, Place::from(*user), &|sql| {
                sql.push(" = ").bind(*user);
            });
            sql.push(")");
        }
    } else {
        one(sql, Place::Column("u.id"), &|sql| {
            sql.among(users);
        });
    }
    sql.push(" LIMIT 1000000");
}

/// Adds 1 or 0: whether the log has something for the user `u` of the tenant `t` after his cursor.
///
/// The cheapest way that answers. Nothing new in the log: no. A gap of [`IDLE_GAP`]: yes. Something that he has was
/// amended: yes. A gap smaller than the number of channels he listens to: walk the log from his cursor
/// (`publication_seq`) and probe his subscriptions. Else: look at the newest publication of each of his channels (the end
/// of a range of `publication`'s key).
fn push_behind(sql: &mut Sql, tenant: &Tenant, user: Place<'_>) {
    sql.push("CASE WHEN t.last_seq <= u.cursor_seq THEN 0 WHEN t.last_seq - u.cursor_seq > ");
    sql.push(&IDLE_GAP.to_string()).push(" THEN 1 WHEN t.amended_seq > u.cursor_seq AND ");
    amend::push_concerns(sql, tenant, user, &|sql| push_cursor(sql, user));
    sql.push(" THEN 1 WHEN t.last_seq - u.cursor_seq <= u.subscription_count + 1 THEN ");
    sql.push("CASE WHEN (SELECT p.seq FROM publication p WHERE p.tenant_id = ").bind(tenant.id).push(" AND p.seq > ");
    push_cursor(sql, user);
    sql.push(" AND (p.channel_id = ").bind(tenant.everyone);
    sql.push(" OR (SELECT s.channel_id FROM subscription s WHERE s.user_id = ");
    user.push(sql);
    sql.push(" AND s.channel_id = p.channel_id) IS NOT NULL) ORDER BY p.seq LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END ");
    sql.push("WHEN (SELECT MAX(p.seq) FROM publication p WHERE p.channel_id = ").bind(tenant.everyone);
    sql.push(") > u.cursor_seq THEN 1 WHEN EXISTS (SELECT 1 FROM subscription s WHERE s.user_id = ");
    user.push(sql);
    sql.push(" AND ").push(NEWEST).push(" > u.cursor_seq) THEN 1 ELSE 0 END");
}

/// Adds that the item `i` of a user is not beyond where a statement reads; `cursor` is the column of the user's cursor, where the
/// user is a column, too.
pub fn push_cut(sql: &mut Sql, user: Place<'_>, cursor: &str, reach: Reach) {
    if reach != Reach::Cursor {
        return;
    }
    sql.push(" AND i.seq <= ");
    match user {
        Place::Column(_) => drop(sql.push(cursor)),
        Place::Constant(_) => push_cursor(sql, user),
    }
}

/// The cursor of `u`: where the user is a constant, as a sub-select that the planner can look up.
fn push_cursor(sql: &mut Sql, user: Place<'_>) {
    match user {
        Place::Column(_) => {
            sql.push("u.cursor_seq");
        }
        Place::Constant(user) => {
            sql.push("(SELECT c.cursor_seq FROM users c WHERE c.id = ").bind(user).push(")");
        }
    }
}

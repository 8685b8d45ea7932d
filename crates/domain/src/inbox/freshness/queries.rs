//! How fresh inboxes are: as a part of other statements, and alone.

use std::iter::repeat_n;

use entity::ids::UserId;
use sea_orm::{ConnectionTrait, DbBackend};

use crate::inbox::amendments;
use crate::inbox::ranges::SqlOperand;
use crate::tenant::Tenant;
use base::error::Result;
use model::inbox_position::InboxPosition;
use store::SqlBuilder;

/// If an inbox is more than this many log entries behind, a read syncs it even if none of them is for the user.
/// Otherwise every later check would read these entries again.
pub const IDLE_GAP: i64 = 1000;

/// How far into the log a statement reads inboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBound {
    /// To the end of the log. The statement also checks whether the inbox is behind.
    End,
    /// To the end of the log, without the check: the caller knows that the inbox is not behind. PostgreSQL spends most
    /// of the check's cost on preparing it, even if it never runs.
    KnownEnd,
    /// To the cursor, which a sync has just moved.
    Cursor,
}

/// The newest publication `p` on the channel of a subscription `s`: one probe of `publication`'s key.
///
/// Not `MAX`, because MariaDB reads the whole channel if it is not a constant.
pub const NEWEST: &str =
    "(SELECT p.seq FROM publication p WHERE p.channel_id = s.channel_id ORDER BY p.seq DESC LIMIT 1)";

/// On MySQL, repeats the first user until the count is a power of two. [`push_positions`] makes one branch per user
/// there, so this limits the number of different statements.
pub fn pad_users(sql: &SqlBuilder, users: &mut Vec<UserId>) {
    if sql.backend() == DbBackend::MySql {
        users.extend(repeat_n(users[0], users.len().next_power_of_two() - users.len()));
    }
}

/// Returns how fresh the inboxes of users are. May return a user more than once: see [`pad_users`].
pub async fn load_positions(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    mut users: Vec<UserId>,
) -> Result<Vec<InboxPosition>> {
    let mut sql = SqlBuilder::new(db);
    pad_users(&sql, &mut users);
    sql.push("SELECT ").push_columns::<InboxPosition>().push(" FROM (");
    push_positions(&mut sql, tenant, &users, ReadBound::End, &|_, _| {});
    sql.push(") h");
    sql.fetch_all(db).await
}

/// Adds a sub-select with a [`InboxPosition`] for each user, and `extra` as further columns.
///
/// The `LIMIT` keeps planners from merging it into the outer query, which would evaluate it again for every row.
pub fn push_positions(
    sql: &mut SqlBuilder,
    tenant: &Tenant,
    users: &[UserId],
    reach: ReadBound,
    extra: &dyn Fn(&mut SqlBuilder, SqlOperand<'_>),
) {
    let one = |sql: &mut SqlBuilder, user: SqlOperand<'_>, which: &dyn Fn(&mut SqlBuilder)| {
        let end = if reach == ReadBound::Cursor { "u.cursor_seq" } else { "t.last_seq" };
        sql.push(&format!("SELECT u.id AS h_user_id, u.cursor_seq AS h_cursor_seq, {end} AS h_last_seq, "));
        sql.push("t.catalogue_version AS h_version, ");
        match reach {
            ReadBound::End => push_behind(sql, tenant, user),
            ReadBound::KnownEnd | ReadBound::Cursor => drop(sql.push("0")),
        }
        sql.push(" AS h_behind");
        extra(sql, user);
        // Uses the primary keys: without statistics, PostgreSQL would prefer an index that begins with the tenant.
        sql.push(" FROM users u JOIN tenant t ON t.id = u.tenant_id + 0 WHERE t.id = ").bind(tenant.id);
        sql.push(" AND u.id");
        which(sql);
    };
    if sql.backend() == DbBackend::MySql {
        for (place, user) in users.iter().enumerate() {
            sql.push(if place > 0 { " UNION ALL (" } else { "(" });
            one(sql, SqlOperand::from(*user), &|sql| {
                sql.push(" = ").bind(*user);
            });
            sql.push(")");
        }
    } else {
        one(sql, SqlOperand::Column("u.id"), &|sql| {
            sql.push_list(users);
        });
    }
    sql.push(" LIMIT 1000000");
}

/// Adds the columns of [`InboxVersions`](model::cache_validator::InboxVersions) for user `u` of tenant `t`: one probe of
/// the key of `inbox_item`.
pub fn push_versions(sql: &mut SqlBuilder, user: SqlOperand<'_>) {
    sql.push(", u.version AS h_user_version, t.text_version AS h_texts, ");
    sql.push("COALESCE((SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
    user.push(sql);
    sql.push(" ORDER BY i.seq DESC LIMIT 1), 0) AS h_newest");
}

/// Adds the columns of [`ReaderLocale`](model::reader::ReaderLocale) for user `u`.
pub fn push_reader(sql: &mut SqlBuilder) {
    sql.push(", u.locale AS h_locale, u.time_zone AS h_time_zone");
}

/// Adds 1 if the log has something for the user `u` of the tenant `t` after their cursor, or else 0.
///
/// Takes the cheapest check that decides it. If the log has nothing new: 0. If the gap exceeds [`IDLE_GAP`]: 1. If an
/// item of the user was amended: 1. If the gap is at most one more than the user's subscriptions: walk the log from the
/// cursor (`publication_seq`) and probe the subscriptions. Otherwise: probe the newest publication of each channel
/// (`publication`'s key).
fn push_behind(sql: &mut SqlBuilder, tenant: &Tenant, user: SqlOperand<'_>) {
    sql.push("CASE WHEN t.last_seq <= u.cursor_seq THEN 0 WHEN t.last_seq - u.cursor_seq > ");
    sql.push(&IDLE_GAP.to_string()).push(" THEN 1 WHEN t.amended_seq > u.cursor_seq AND ");
    amendments::push_has_amendment(sql, tenant, user, &|sql| push_cursor(sql, user));
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

/// With [`ReadBound::Cursor`], adds that the item `i` is not beyond the user's cursor. `cursor` is the column to
/// compare with if the user is a column, too.
pub fn push_read_bound(sql: &mut SqlBuilder, user: SqlOperand<'_>, cursor: &str, reach: ReadBound) {
    if reach != ReadBound::Cursor {
        return;
    }
    sql.push(" AND i.seq <= ");
    match user {
        SqlOperand::Column(_) => drop(sql.push(cursor)),
        SqlOperand::Constant(_) => push_cursor(sql, user),
    }
}

/// Adds the cursor of `u`. For a constant user it is a sub-select that the planner can look up.
fn push_cursor(sql: &mut SqlBuilder, user: SqlOperand<'_>) {
    match user {
        SqlOperand::Column(_) => {
            sql.push("u.cursor_seq");
        }
        SqlOperand::Constant(user) => {
            sql.push("(SELECT c.cursor_seq FROM users c WHERE c.id = ").bind(user).push(")");
        }
    }
}

//! Where inboxes stand, within other statements and by itself.

use std::iter::repeat_n;

use entity::ids::UserId;
use sea_orm::{ConnectionTrait, DbBackend};

use crate::database::Sql;
use crate::domain::inbox::amend;
use crate::domain::inbox::shelf::Place;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::standing::Standing;

/// Entries of the log after which a cursor is moved although none of them was for the user, so that the next
/// question does not look at them again.
pub const IDLE_GAP: i64 = 1000;

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

/// Where the inboxes of users stand; of some of them twice, see [`pad`].
pub async fn of(db: &impl ConnectionTrait, tenant: &Tenant, mut users: Vec<UserId>) -> Result<Vec<Standing>> {
    let mut sql = Sql::new(db);
    pad(&sql, &mut users);
    sql.push("SELECT ").columns::<Standing>().push(" FROM (");
    push(&mut sql, tenant, &users, Reach::End, &|_, _| {});
    sql.push(") h");
    sql.all(db).await
}

/// Adds a sub-select with a [`Standing`] for each of the users, and `extra` as more columns of it.
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
        // By their own key: without statistics, PostgreSQL would prefer an index that begins with the tenant.
        sql.push(" FROM users u JOIN tenant t ON t.id = u.tenant_id + 0 WHERE t.id = ").bind(tenant.id);
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

/// Adds the columns of a [`Stamp`](crate::model::proof::Stamp) to the [`Standing`] of a user `u` of the tenant `t`: one probe of `inbox_item`'s key.
pub fn push_stamp(sql: &mut Sql, user: Place<'_>) {
    sql.push(", u.version AS h_user_version, t.text_version AS h_texts, ");
    sql.push("COALESCE((SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
    user.push(sql);
    sql.push(" ORDER BY i.seq DESC LIMIT 1), 0) AS h_newest");
}

/// Adds 1 or 0: whether the log has something for the user `u` of the tenant `t` after their cursor.
///
/// The cheapest way that answers. Nothing new in the log: no. A gap of [`IDLE_GAP`]: yes. Something that they have was
/// amended: yes. A gap smaller than the number of channels they listen to: walk the log from their cursor
/// (`publication_seq`) and probe their subscriptions. Else: look at the newest publication of each of their channels (the end
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

//! Finds amendments and the users they concern.

use entity::ids::{Seq, UserId};
use entity::prelude::FromQueryResult;
use sea_orm::ConnectionTrait;

use crate::inbox::ranges::SqlOperand;
use crate::tenant::Tenant;
use store::SqlBuilder;

/// The seqs that relevant amendments can have as their subject: from the oldest to the newest item of the inboxes.
#[derive(Clone, Copy, Debug)]
pub struct SubjectRange {
    pub oldest: Seq,
    pub newest: Seq,
}

impl SubjectRange {
    /// Every amendment.
    pub const ALL: Self = Self { oldest: Seq(0), newest: Seq(i64::MAX) };
}

/// The first and the last item of an inbox.
#[derive(Debug, FromQueryResult)]
pub struct InboxEdges {
    pub oldest: Option<Seq>,
    pub newest: Option<Seq>,
}

/// Both ends of a range of `inbox_item`'s key. Not `MIN` and `MAX`, because SQLite would read everything between them.
pub fn select_edges(db: &impl ConnectionTrait, user: UserId) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    for (name, order) in [("oldest", "ASC"), ("newest", "DESC")] {
        sql.push(if name == "oldest" { "SELECT " } else { ", " });
        sql.push("(SELECT i.seq FROM inbox_item i WHERE i.user_id = ").bind(user);
        sql.push(&format!(" ORDER BY i.seq {order} LIMIT 1) AS {name}"));
    }
    sql
}

/// How many amendments there are, and the last of them.
#[derive(Debug, FromQueryResult)]
pub struct AmendmentCount {
    pub many: i64,
    pub last: Option<Seq>,
}

/// Counts the amendments after one log position up to another, at most `most`: a walk of `amendment`'s key.
pub fn count_amendments(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    SubjectRange { oldest, newest }: SubjectRange,
    (after, upto): (Seq, Seq),
    most: i64,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT count(*) AS many, max(x.seq) AS last FROM (SELECT a.seq FROM amendment a WHERE a.tenant_id = ");
    sql.bind(tenant.id).push(" AND a.seq > ").bind(after).push(" AND a.seq <= ").bind(upto);
    sql.push(" AND a.subject_seq >= ").bind(oldest).push(" AND a.subject_seq <= ").bind(newest);
    sql.push(" ORDER BY a.seq LIMIT ").bind(most).push(") x");
    sql
}

/// An amended item that one of the users has.
#[derive(Debug, FromQueryResult)]
pub struct AmendedItem {
    pub subject_seq: Seq,
}

/// The amended items that at least one of the users has: a range of `amendment`'s key, and a probe of `inbox_item`'s
/// key for each user. Reads no notifications: with a join, PostgreSQL would scan the amendments for each.
pub fn select_amended_items(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
    SubjectRange { oldest, newest }: SubjectRange,
    (after, upto): (Seq, Seq),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT DISTINCT a.subject_seq FROM amendment a WHERE a.tenant_id = ").bind(tenant.id);
    sql.push(" AND a.seq > ").bind(after).push(" AND a.seq <= ").bind(upto);
    sql.push(" AND a.subject_seq >= ").bind(oldest).push(" AND a.subject_seq <= ").bind(newest);
    // Not a join with the items, because MariaDB would read all items of several users.
    sql.push(" AND (SELECT u.id FROM users u WHERE u.id").push_list(users);
    sql.push(" AND (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.seq = a.subject_seq) IS NOT NULL");
    sql.push(" LIMIT 1) IS NOT NULL");
    sql
}

/// Adds the condition that an amendment after the cursor of user `u` concerns one of their items. Reads the amendments
/// since the cursor, with a probe of `inbox_item`'s key for each. Not a join, because PostgreSQL would hash all items
/// of the user.
pub fn push_has_amendment(
    sql: &mut SqlBuilder,
    tenant: &Tenant,
    user: SqlOperand<'_>,
    cursor: &dyn Fn(&mut SqlBuilder),
) {
    sql.push("(SELECT a.seq FROM amendment a WHERE a.tenant_id = ").bind(tenant.id).push(" AND a.seq > ");
    cursor(sql);
    sql.push(" AND (SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
    user.push(sql);
    sql.push(" AND i.seq = a.subject_seq) IS NOT NULL ORDER BY a.seq LIMIT 1) IS NOT NULL");
}

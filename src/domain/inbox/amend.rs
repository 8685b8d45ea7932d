//! Amendments in inboxes: what was published earlier and has since been retracted, or expires at another instant.

use std::collections::HashMap;

use entity::ids::{Seq, UserId};

use super::shelf::Place;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tally;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::{LIST, Sql};

/// Amendments that one transaction looks for in the inbox of a user who is far behind.
const AMENDMENTS: i64 = 5000;

/// Entries of the log among which it looks for those.
const ENTRIES: i64 = 200_000;

/// What amendments may be about that concern somebody: from the oldest to the newest of what was in the inbox before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subjects {
    oldest: Seq,
    newest: Seq,
}

impl Subjects {
    /// Whatever it is about.
    pub const ALL: Self = Self { oldest: Seq(0), newest: Seq(i64::MAX) };

    /// Of a user's inbox as it is; nothing where it is empty. What a sync puts into it is as its publications say, which are
    /// amended at once.
    pub async fn of(txn: &Transaction, user: UserId) -> Result<Option<Self>> {
        let mut sql = Sql::new(txn);
        for (name, order) in [("oldest", "ASC"), ("newest", "DESC")] {
            sql.push(if name == "oldest" { "SELECT " } else { ", " });
            sql.push("(SELECT i.seq FROM inbox_item i WHERE i.user_id = ").bind(user);
            sql.push(&format!(" ORDER BY i.seq {order} LIMIT 1) AS {name}"));
        }
        let Some(row) = sql.one(txn).await? else { return Ok(None) };
        let oldest: Option<Seq> = row.try_get("", "oldest")?;
        let newest: Option<Seq> = row.try_get("", "newest")?;
        Ok(oldest.zip(newest).map(|(oldest, newest)| Self { oldest, newest }))
    }
}

/// How far a transaction may come within a part of the log, after its first place and up to its last, so that it looks for
/// a bounded number of amendments in an inbox; and how many these are. A walk of `amendment`'s key.
pub(super) async fn reach(
    txn: &Transaction,
    tenant: &Tenant,
    Subjects { oldest, newest }: Subjects,
    (after, upto): (Seq, Seq),
) -> Result<(Seq, u64)> {
    let upto = upto.min(Seq(after.0 + ENTRIES));
    let mut sql = Sql::new(txn);
    sql.push("SELECT count(*) AS many, max(x.seq) AS last FROM (SELECT a.seq FROM amendment a WHERE a.tenant_id = ");
    sql.bind(tenant.id).push(" AND a.seq > ").bind(after).push(" AND a.seq <= ").bind(upto);
    sql.push(" AND a.subject_seq >= ").bind(oldest).push(" AND a.subject_seq <= ").bind(newest);
    sql.push(" ORDER BY a.seq LIMIT ").bind(AMENDMENTS).push(") x");
    let Some(row) = sql.one(txn).await? else { return Ok((upto, 0)) };
    let (many, last): (i64, Option<Seq>) = (row.try_get("", "many")?, row.try_get("", "last")?);
    Ok((last.filter(|_| many == AMENDMENTS).unwrap_or(upto), many.unsigned_abs()))
}

/// Applies the amendments of a part of the log, after its first place and up to its last, to the inboxes of users, whose
/// rows are locked. The notifications say what they are now, so that applying one again, or late, does no harm.
pub(super) async fn apply(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    subjects: Subjects,
    within: (Seq, Seq),
) -> Result<()> {
    let subjects = concerned(txn, tenant, users, subjects, within).await?;
    let (mut retracted, mut expiring): (Vec<Seq>, HashMap<Option<Millis>, Vec<Seq>>) = (Vec::new(), HashMap::new());
    for seqs in subjects.chunks(LIST) {
        let mut sql = Sql::new(txn);
        sql.push("SELECT n.seq, n.expires_at, n.retracted_at FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
        sql.push(" AND n.seq").among(seqs);
        for row in sql.all(txn).await? {
            let seq = row.try_get("", "seq")?;
            match row.try_get::<Option<Millis>>("", "retracted_at")? {
                Some(_) => retracted.push(seq),
                None => expiring.entry(row.try_get("", "expires_at")?).or_default().push(seq),
            }
        }
    }
    for (expires_at, seqs) in expiring {
        for seqs in seqs.chunks(LIST) {
            let mut sql = Sql::new(txn);
            sql.push("UPDATE inbox_item SET expires_at = ").bind(expires_at).push(" WHERE user_id").among(users);
            sql.push(" AND seq").among(seqs);
            sql.run(txn).await?;
        }
    }
    if !retracted.is_empty() {
        tally::settle(txn, users).await?;
    }
    for retracted in retracted.chunks(LIST) {
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM inbox_item WHERE user_id").among(users).push(" AND seq").among(retracted);
        sql.run(txn).await?;
    }
    Ok(())
}

/// What the amendments are about and one of the users has: a range of `amendment`'s key, and a probe of `inbox_item`'s for
/// each user. What it says now is read apart: as a join, PostgreSQL would go through the amendments for each notification.
async fn concerned(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    Subjects { oldest, newest }: Subjects,
    (after, upto): (Seq, Seq),
) -> Result<Vec<Seq>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT DISTINCT a.subject_seq FROM amendment a WHERE a.tenant_id = ").bind(tenant.id);
    sql.push(" AND a.seq > ").bind(after).push(" AND a.seq <= ").bind(upto);
    sql.push(" AND a.subject_seq >= ").bind(oldest).push(" AND a.subject_seq <= ").bind(newest);
    // Not a join with the items, of which MariaDB would read all that several users have.
    sql.push(" AND (SELECT u.id FROM users u WHERE u.id").among(users);
    sql.push(" AND (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.seq = a.subject_seq) IS NOT NULL");
    sql.push(" LIMIT 1) IS NOT NULL");
    sql.all(txn).await?.iter().map(|row| Ok(row.try_get("", "subject_seq")?)).collect()
}

/// Adds a condition: whether an amendment after the cursor of the user `u` is about an item that he has. Read from the
/// amendments since then, with a probe of `inbox_item`'s key for each; not as a join, for which PostgreSQL would make a hash
/// of all that he has.
pub(super) fn push_concerns(sql: &mut Sql, tenant: &Tenant, user: Place<'_>, cursor: &dyn Fn(&mut Sql)) {
    sql.push("(SELECT a.seq FROM amendment a WHERE a.tenant_id = ").bind(tenant.id).push(" AND a.seq > ");
    cursor(sql);
    sql.push(" AND (SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
    user.push(sql);
    sql.push(" AND i.seq = a.subject_seq) IS NOT NULL ORDER BY a.seq LIMIT 1) IS NOT NULL");
}

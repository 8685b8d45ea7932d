//! Amendments in inboxes: what was published earlier and has since been retracted, or expires at another instant.

use std::collections::HashMap;

use entity::ids::{Seq, UserId};

use super::shelf::Place;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tally;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::Sql;

/// Applies the amendments of a part of the log, after its first place and up to its last, to the inboxes of users, whose
/// rows are locked. The notifications say what they are now, so that applying one again, or late, does no harm.
pub(super) async fn apply(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (after, upto): (Seq, Seq),
) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT DISTINCT a.subject_seq, n.expires_at, n.retracted_at FROM amendment a JOIN notification n ON ");
    sql.push("n.tenant_id = a.tenant_id AND n.seq = a.subject_seq WHERE a.tenant_id = ").bind(tenant.id);
    sql.push(" AND a.seq > ").bind(after).push(" AND a.seq <= ").bind(upto);
    // Not a join with the items, of which MariaDB would read all that several users have.
    sql.push(" AND (SELECT u.id FROM users u WHERE u.id")
        .in_ids(users)
        .push(" AND (SELECT i.seq FROM inbox_item i WHERE ");
    sql.push("i.user_id = u.id AND i.seq = a.subject_seq) IS NOT NULL LIMIT 1) IS NOT NULL");
    let (mut retracted, mut expiring): (Vec<Seq>, HashMap<Option<Millis>, Vec<Seq>>) = (Vec::new(), HashMap::new());
    for row in sql.all(txn).await? {
        let seq = row.try_get("", "subject_seq")?;
        match row.try_get::<Option<Millis>>("", "retracted_at")? {
            Some(_) => retracted.push(seq),
            None => expiring.entry(row.try_get("", "expires_at")?).or_default().push(seq),
        }
    }
    for (expires_at, seqs) in expiring {
        let mut sql = Sql::new(txn);
        sql.push("UPDATE inbox_item SET expires_at = ").bind(expires_at).push(" WHERE user_id").in_ids(users);
        sql.push(" AND seq").in_ids(&seqs);
        sql.run(txn).await?;
    }
    if !retracted.is_empty() {
        tally::settle(txn, users).await?;
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM inbox_item WHERE user_id").in_ids(users).push(" AND seq").in_ids(&retracted);
        sql.run(txn).await?;
    }
    Ok(())
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

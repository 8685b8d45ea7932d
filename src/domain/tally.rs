//! Tallies: how many users a notification has reached, and how many have read it.
//!
//! Whoever reads or syncs never touches the notification, which all would wait for. He leaves a row of his own: a *span*
//! for a part of an inbox that arrived or was read at once, or a *tally* for single items. Spans are settled into tallies
//! item by item, and tallies added to the notifications, in the background (`count`).
//!
//! A span is true only as long as the items in it stay as they are, so whatever changes single items settles the user's
//! spans before. Every function here but those of the background works under the lock of the users' rows.

mod audience;
mod count;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::{DatabaseTransaction, Value};

use super::inbox::shelf::State;
use super::tenant::Tenant;
use crate::clock::Millis;
use crate::error::Result;
use crate::sql::{Existing, Rows, Sql, insert};

pub use count::{count, settle_all};

/// What arrived in the inboxes of users, from where each of them stands up to `upto`, is to be counted.
pub async fn arrived(txn: &DatabaseTransaction, users: &[UserId], upto: Seq, now: Millis) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("INSERT INTO tally_span (user_id, is_read, type_id, after_seq, upto_seq, created_at) ");
    sql.push("SELECT u.id, FALSE, 0, u.cursor_seq, ").bind(upto).push(", ").bind(now);
    sql.push(" FROM users u WHERE u.id").in_ids(users).push(" AND (SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
    sql.push("u.id AND i.seq > u.cursor_seq AND i.seq <= ").bind(upto).push(" LIMIT 1) IS NOT NULL");
    sql.or_ignore("tally_span.upto_seq");
    sql.run(txn).await?;
    Ok(())
}

/// Items of a type that were neither marked by themselves nor below the mark are read now, up to `upto`.
pub async fn read(
    txn: &DatabaseTransaction,
    user: UserId,
    kind: TypeId,
    (after, upto): (Seq, Seq),
    now: Millis,
) -> Result<()> {
    let columns = &["user_id", "is_read", "type_id", "after_seq", "upto_seq", "created_at"];
    let values = vec![vec![user.into(), true.into(), kind.into(), after.into(), upto.into(), now.into()]];
    insert(txn, Rows { table: "tally_span", columns, values }, Existing::Kept).await?;
    Ok(())
}

/// Single items were read (1) or marked unread (-1).
pub async fn marked(txn: &DatabaseTransaction, tenant: &Tenant, seqs: &[Seq], by: i64) -> Result<()> {
    let row = |seq: &Seq| vec![tenant.id.into(), (*seq).into(), 0_i64.into(), Value::from(by)];
    let columns = &["tenant_id", "seq", "delivered", "was_read"];
    insert(txn, Rows { table: "tally", columns, values: seqs.iter().map(row).collect() }, Existing::Refused).await?;
    Ok(())
}

/// Counts the spans of users item by item, where they have any.
///
/// What was addressed to users by name was counted when it was sent: it has no publication.
pub async fn settle(txn: &DatabaseTransaction, users: &[UserId]) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.user_id FROM tally_span s WHERE s.user_id").in_ids(users).push(" LIMIT 1");
    if sql.one(txn).await?.is_none() {
        return Ok(());
    }
    for is_read in [false, true] {
        let mut sql = Sql::new(txn);
        sql.push("INSERT INTO tally (tenant_id, seq, delivered, was_read) SELECT u.tenant_id, i.seq, ");
        sql.push(if is_read { "0, count(*)" } else { "count(*), 0" });
        sql.push(" FROM tally_span s JOIN users u ON u.id = s.user_id JOIN inbox_item i ON i.user_id = s.user_id ");
        sql.push("AND i.seq > s.after_seq AND i.seq <= s.upto_seq WHERE s.user_id").in_ids(users);
        if is_read {
            sql.push(&format!(" AND s.is_read AND i.type_id = s.type_id AND i.state = {}", State::Fresh as i16));
            sql.push(" AND (i.expires_at IS NULL OR i.expires_at > s.created_at)");
        } else {
            sql.push(" AND NOT s.is_read AND EXISTS (SELECT 1 FROM publication p WHERE p.tenant_id = u.tenant_id");
            sql.push(" AND p.seq = i.seq)");
        }
        sql.push(" GROUP BY u.tenant_id, i.seq");
        sql.run(txn).await?;
    }
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM tally_span WHERE user_id").in_ids(users);
    sql.run(txn).await?;
    Ok(())
}

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
mod settle;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::Value;

use super::tenant::Tenant;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::Result;
use crate::sql::{Existing, Rows, Sql, insert};

pub use count::{count, settle_all};
pub use settle::{settle, settle_up_to};

const SPAN: [&str; 6] = ["user_id", "is_read", "type_id", "after_seq", "upto_seq", "created_at"];

/// What arrived in the inboxes of users, from where each of them stands (`after` or later) up to `upto`, is to be counted; of
/// who got nothing, that will be nothing.
///
/// A span for each of the users, or where they are more than the entries of the log that they were brought over, at once a
/// tally for each of those: what reaches many leaves a few rows.
pub async fn arrived(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (after, upto): (Seq, Seq),
    now: Millis,
) -> Result<()> {
    let mut sql = Sql::new(txn);
    if usize::try_from(upto.0 - after.0).is_ok_and(|entries| entries < users.len()) {
        sql.push("INSERT INTO tally (tenant_id, seq, delivered, was_read) SELECT u.tenant_id, i.seq, count(*), 0 ");
        // Ranges of `inbox_item`'s key, with constants for MySQL.
        sql.push("FROM inbox_item i JOIN users u ON u.id = i.user_id WHERE i.user_id").among(users);
        sql.push(" AND i.seq > ").bind(after).push(" AND i.seq <= ").bind(upto).push(" AND i.seq > u.cursor_seq");
        push_published(&mut sql, |sql| {
            sql.push("u.tenant_id");
        });
        sql.push(" AND u.tenant_id = ").bind(tenant.id).push(" GROUP BY u.tenant_id, i.seq");
    } else {
        sql.push(&format!("INSERT INTO tally_span ({}) SELECT u.id, FALSE, 0, u.cursor_seq, ", SPAN.join(", ")));
        sql.bind(upto).push(", ").bind(now).push(" FROM users u WHERE u.id").among(users);
        sql.push(" AND u.cursor_seq < ").bind(upto).or_ignore("tally_span.upto_seq");
    }
    sql.run(txn).await?;
    Ok(())
}

/// Adds a condition: what was addressed to a user by name, without a publication, was counted when it was sent.
fn push_published(sql: &mut Sql, tenant: impl Fn(&mut Sql)) {
    sql.push(" AND (SELECT p.seq FROM publication p WHERE p.tenant_id = ");
    tenant(sql);
    sql.push(" AND p.seq = i.seq LIMIT 1) IS NOT NULL");
}

/// Items of a type that were neither marked by themselves nor below the mark are read now, up to `upto`.
pub async fn read(txn: &Transaction, user: UserId, kind: TypeId, (after, upto): (Seq, Seq), now: Millis) -> Result<()> {
    let values = vec![vec![user.into(), true.into(), kind.into(), after.into(), upto.into(), now.into()]];
    insert(txn, Rows { table: "tally_span", columns: &SPAN, values }, Existing::Kept).await?;
    Ok(())
}

/// Single items were read (1) or marked unread (-1).
pub async fn marked(txn: &Transaction, tenant: &Tenant, seqs: &[Seq], by: i64) -> Result<()> {
    let row = |seq: &Seq| vec![tenant.id.into(), (*seq).into(), 0_i64.into(), Value::from(by)];
    let columns = &["tenant_id", "seq", "delivered", "was_read"];
    insert(txn, Rows { table: "tally", columns, values: seqs.iter().map(row).collect() }, Existing::Refused).await?;
    Ok(())
}

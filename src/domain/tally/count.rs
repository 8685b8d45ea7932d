//! The background's part: spans become tallies, and tallies become the counts of notifications.

use std::collections::BTreeMap;

use entity::ids::{Seq, TenantId, UserId};

use super::{audience, settle};
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::error::{Error, Result};
use crate::sql::{LIST, Sql};

/// Users whose spans are settled in one transaction, which locks their rows.
const USERS: i64 = 200;

/// Tallies of one transaction.
const TALLIES: i64 = 5000;

/// Notifications of one statement.
const NOTIFICATIONS: usize = 256;

/// Brings the counts of all notifications up to now. Safe on several nodes at once.
pub async fn count(app: &App) -> Result<()> {
    settle_all(app).await?;
    while transaction!(app.db, |txn| add_some(txn).await)? {}
    audience::count(app).await
}

/// Settles the spans of all users, which must be done before items of theirs are deleted. What they leave meanwhile may
/// stay for the next time: users who never rest do not keep it from ending.
pub async fn settle_all(app: &App) -> Result<()> {
    let mut after = Some(UserId(0));
    while let Some(from) = after {
        after = transaction!(app.db, |txn| settle_some(txn, from).await)?;
    }
    Ok(())
}

/// Settles the spans of some users after one of them, and returns the last of these.
async fn settle_some(txn: &Transaction, after: UserId) -> Result<Option<UserId>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT DISTINCT s.user_id FROM tally_span s WHERE s.user_id > ").bind(after);
    sql.push(" ORDER BY s.user_id LIMIT ").bind(USERS);
    let users = ids(&sql.all(txn).await?, "user_id")?;
    let Some(&last) = users.last() else { return Ok(None) };
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.id").among(&users).push(" ORDER BY u.id").for_update();
    let locked = ids(&sql.all(txn).await?, "id")?;
    // Those of whoever is no user any more are for the job that erases them.
    settle(txn, &locked).await?;
    Ok(Some(last))
}

fn ids(rows: &[sea_orm::QueryResult], column: &str) -> Result<Vec<UserId>> {
    rows.iter().map(|row| Ok(row.try_get("", column)?)).collect()
}

/// Adds some tallies to their notifications; false when those were about the last. Whoever deletes a tally has added it.
async fn add_some(txn: &Transaction) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT t.id, t.tenant_id, t.seq, t.delivered, t.was_read FROM tally t ORDER BY t.id LIMIT ");
    sql.bind(TALLIES).for_update();
    let rows = sql.all(txn).await?;
    let mut tallies: Vec<i64> = Vec::with_capacity(rows.len());
    let mut sums: BTreeMap<TenantId, BTreeMap<Seq, (i64, i64)>> = BTreeMap::new();
    for row in &rows {
        tallies.push(row.try_get("", "id")?);
        let sum = sums.entry(row.try_get("", "tenant_id")?).or_default().entry(row.try_get("", "seq")?).or_default();
        sum.0 += row.try_get::<i64>("", "delivered")?;
        sum.1 += row.try_get::<i64>("", "was_read")?;
    }
    for (tenant, sums) in sums {
        let sums: Vec<(Seq, (i64, i64))> = sums.into_iter().collect();
        for sums in sums.chunks(NOTIFICATIONS) {
            add(txn, tenant, sums).await?;
        }
    }
    for tallies in tallies.chunks(LIST) {
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM tally WHERE id").among(tallies);
        if sql.run(txn).await? != tallies.len() as u64 {
            return Err(Error::Unavailable("another node has counted meanwhile".into()));
        }
    }
    Ok(rows.len() as u64 == TALLIES.unsigned_abs())
}

async fn add(txn: &Transaction, tenant: TenantId, sums: &[(Seq, (i64, i64))]) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE notification SET ");
    for (place, column) in ["delivered_count", "read_count"].into_iter().enumerate() {
        sql.push(if place > 0 { ", " } else { "" }).push(&format!("{column} = {column} + CASE seq"));
        for (seq, (delivered, was_read)) in sums {
            let sum = if column == "delivered_count" { delivered } else { was_read };
            sql.push(&format!(" WHEN {seq} THEN {sum}"));
        }
        sql.push(" ELSE 0 END");
    }
    let seqs: Vec<Seq> = sums.iter().map(|(seq, _)| *seq).collect();
    sql.push(" WHERE tenant_id = ").bind(tenant).push(" AND seq").among(&seqs);
    sql.run(txn).await?;
    Ok(())
}

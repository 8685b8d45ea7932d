//! Orphans: what names somebody who is no user any more, and whom no job erases. There should be none; what is left from
//! before erasing was a job, or by a fault, goes here.
//!
//! Rows that belong to users are found by the gaps between the numbers of those that there are: a probe of each table's key
//! a gap, whatever the tables hold.

use std::collections::BTreeSet;

use entity::ids::{TenantId, UserId};

use super::erase::{NOTIFICATIONS, SENT, TABLES, delete_batch, end_of_batch, end_of_sent, erase_sent};
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::job;
use crate::domain::tenant::{self, Failures, Tenant};
use crate::error::Result;
use crate::sql::Sql;

/// Users whose numbers are looked at once.
const USERS: i64 = 2000;

/// Gaps of one statement.
const GAPS: usize = 64;

/// From one number to another, both of which are somebody's, or the ends of all numbers.
type Gap = (i64, i64);

/// Deletes all orphans. Returns how often somebody was found in a table, or a part of what was sent.
pub async fn sweep(app: &App) -> Result<u64> {
    let (mut found, mut failures) = (0, Failures::default());
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT t.id FROM tenant t ORDER BY t.id");
    for row in sql.all(&app.db.read).await? {
        let tenant = row.try_get("", "id")?;
        found += failures.note(app, tenant, sweep_sent(app, tenant).await).unwrap_or_default();
    }
    let mut after = Some(0);
    while let Some(from) = after {
        let (gaps, next) = gaps(app, from).await?;
        for gaps in gaps.chunks(GAPS) {
            for table in TABLES {
                found += sweep_gaps(app, table, gaps).await?;
            }
        }
        after = next;
    }
    failures.end().map(|()| found)
}

/// The gaps after a number, and the number from which to go on.
async fn gaps(app: &App, from: i64) -> Result<(Vec<Gap>, Option<i64>)> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT u.id FROM users u WHERE u.id > ").bind(from).push(" ORDER BY u.id LIMIT ").bind(USERS);
    let rows = sql.all(&app.db.read).await?;
    let (mut gaps, mut last) = (Vec::new(), from);
    for row in &rows {
        let id: i64 = row.try_get("", "id")?;
        if id > last + 1 {
            gaps.push((last, id));
        }
        last = id;
    }
    if rows.len() as u64 == USERS.unsigned_abs() {
        return Ok((gaps, Some(last)));
    }
    gaps.push((last, i64::MAX));
    Ok((gaps, None))
}

/// Deletes the rows of a table whose users are within gaps, and not being erased. Returns how many users there were.
async fn sweep_gaps(app: &App, table: (&'static str, &'static str), gaps: &[Gap]) -> Result<u64> {
    let (mut gaps, mut found) = (gaps.to_vec(), 0);
    while !gaps.is_empty() {
        let mut sql = Sql::new(&app.db.read);
        for (place, (after, before)) in gaps.iter().enumerate() {
            sql.push(if place > 0 { " UNION ALL " } else { "" }).push("SELECT x.before_id, x.user_id FROM (SELECT ");
            sql.bind(*before).push(&format!(" AS before_id, o.user_id FROM {} o WHERE o.user_id > ", table.0));
            sql.bind(*after).push(" AND o.user_id < ").bind(*before).push(" ORDER BY o.user_id LIMIT 1) x");
        }
        gaps.clear();
        for row in sql.all(&app.db.read).await? {
            let (before, user): (i64, UserId) = (row.try_get("", "before_id")?, row.try_get("", "user_id")?);
            gaps.push((user.0, before));
            let mut is_more = true;
            while is_more {
                is_more = transaction!(app.db, |txn| sweep_rows(txn, table, user).await)?;
            }
            found += 1;
        }
    }
    Ok(found)
}

/// Deletes a batch of somebody's rows of a table; whether there may be more. Numbers are not given twice: who is neither a
/// user nor being erased will never be one.
async fn sweep_rows(txn: &Transaction, table: (&str, &str), user: UserId) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.id = ").bind(user).push(" UNION ALL SELECT j.subject_id FROM job j ");
    sql.push("WHERE j.kind = ").bind(job::Kind::Erase as i16).push(" AND j.subject_id = ").bind(user);
    if sql.one(txn).await?.is_some() {
        return Ok(false);
    }
    let end = end_of_batch(txn, table, user).await?;
    delete_batch(txn, table, user, end).await
}

/// Looks through all that a tenant has sent, and takes out who is no user any more.
async fn sweep_sent(app: &App, tenant: TenantId) -> Result<u64> {
    let tenant = tenant::by_id(app, tenant).await?;
    let end = end_of_sent(&app.db.read, &tenant).await?;
    let (mut from, mut found) = (1, 0);
    while from <= end {
        for user in strangers(app, &tenant, from).await? {
            transaction!(app.db, |txn| erase_sent(txn, &tenant, user, from).await)?;
            found += 1;
        }
        from += NOTIFICATIONS;
    }
    Ok(found)
}

/// Who is named in a part of what was sent and is no user: a probe of `users` for each time.
async fn strangers(app: &App, tenant: &Tenant, from: i64) -> Result<BTreeSet<UserId>> {
    let mut strangers = BTreeSet::new();
    for (table, key, column) in SENT {
        let mut sql = Sql::new(&app.db.read);
        sql.push(&format!("SELECT DISTINCT x.{column} AS user_id FROM {table} x WHERE x.tenant_id = ")).bind(tenant.id);
        sql.push(&format!(" AND x.{key} >= ")).bind(from).push(&format!(" AND x.{key} < ")).bind(from + NOTIFICATIONS);
        sql.push(&format!(
            " AND x.{column} IS NOT NULL AND (SELECT u.id FROM users u WHERE u.id = x.{column}) IS NULL"
        ));
        for row in sql.all(&app.db.read).await? {
            strangers.insert(row.try_get("", "user_id")?);
        }
    }
    Ok(strangers)
}

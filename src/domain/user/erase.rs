//! Erasing a user: nothing of what is his alone stays, and his id in nothing that stays.

use entity::ids::UserId;

use super::find;
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::domain::{channel, check, tally};
use crate::error::Result;
use crate::hub::Notice;
use crate::sql::Sql;

/// Notifications that are looked through in one transaction.
const NOTIFICATIONS: i64 = 10_000;

/// What is about one user, each row with his `user_id`.
const TABLES: [&str; 7] =
    ["inbox_item", "read_mark", "subscription", "preference", "view_visit", "recipient", "tally_span"];

/// Erases a user: his profile, inbox, marks, subscriptions, preferences, visits, and the messages to him; what he sent
/// stays, from nobody. False where the tenant has never heard of him. Live sessions of his end.
///
/// A new mention of his id makes a new user. Until other nodes have forgotten the old one, at most a minute, what they do
/// for the id reaches nobody.
pub async fn erase(app: &App, tenant: &Tenant, external_id: &str) -> Result<bool> {
    check::code("id", external_id)?;
    let known = find(app, tenant, &[external_id.to_owned()]).await?;
    let Some(&user) = known.get(external_id) else { return Ok(false) };
    let was_there = transaction!(app.db, |txn| erase_his(txn, tenant, user).await)?;
    app.caches.users.invalidate(&(tenant.id, external_id.to_owned())).await;
    app.hub.tell(Notice { erased: vec![user], ..Notice::of(tenant.id) });
    let mut after = Some(0);
    while let Some(from) = after {
        after = transaction!(app.db, |txn| erase_sent(txn, tenant, user, from).await)?;
    }
    app.hub.tell(Notice { doubtful: true, ..Notice::of(tenant.id) });
    Ok(was_there)
}

/// What has a row of his own; his row first, so that whoever waits for it does not find him any more.
async fn erase_his(txn: &Transaction, tenant: &Tenant, user: UserId) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.tenant_id = ")
        .bind(tenant.id)
        .push(" AND u.id = ")
        .bind(user)
        .for_update();
    if sql.one(txn).await?.is_none() {
        return Ok(false);
    }
    // He was reached and has read, whoever he was.
    tally::settle(txn, &[user]).await?;
    for table in TABLES {
        let mut sql = Sql::new(txn);
        sql.push(&format!("DELETE FROM {table} WHERE user_id = ")).bind(user);
        sql.run(txn).await?;
    }
    channel::deafen_actor(txn, tenant, user).await?;
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM users WHERE id = ").bind(user);
    sql.run(txn).await?;
    Ok(true)
}

/// Looks through some notifications after a number: those to him go, those from him stay. Returns where to go on.
async fn erase_sent(txn: &Transaction, tenant: &Tenant, user: UserId, after: i64) -> Result<Option<i64>> {
    let range = |sql: &mut Sql, column: &str| {
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(&format!(" AND {column} > ")).bind(after);
        sql.push(&format!(" AND {column} <= ")).bind(after + NOTIFICATIONS);
    };
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM schedule");
    range(&mut sql, "notification_id");
    sql.push(" AND notification_id IN (SELECT n.id FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.receiver_id = ").bind(user).push(" AND n.id > ").bind(after);
    sql.push(" AND n.id <= ").bind(after + NOTIFICATIONS).push(")");
    sql.run(txn).await?;
    for (start, column) in
        [("DELETE FROM notification", "receiver_id"), ("UPDATE notification SET sender_id = NULL", "sender_id")]
    {
        let mut sql = Sql::new(txn);
        sql.push(start);
        range(&mut sql, "id");
        sql.push(&format!(" AND {column} = ")).bind(user);
        sql.run(txn).await?;
    }
    let mut sql = Sql::new(txn);
    sql.push("UPDATE publication SET actor_id = NULL");
    range(&mut sql, "seq");
    sql.push(" AND actor_id = ").bind(user);
    sql.run(txn).await?;
    let mut sql = Sql::new(txn);
    sql.push("SELECT t.last_seq, t.last_notification_id FROM tenant t WHERE t.id = ").bind(tenant.id);
    let Some(row) = sql.one(txn).await? else { return Ok(None) };
    let end = row.try_get::<i64>("", "last_seq")?.max(row.try_get("", "last_notification_id")?);
    let next = after + NOTIFICATIONS;
    Ok((next < end).then_some(next))
}

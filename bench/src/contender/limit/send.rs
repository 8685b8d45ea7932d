//! Sends of the limit, batched into transactions.

use std::sync::Arc;

use serde::Deserialize;
use sqlx::SqlitePool;

use super::now;
use crate::Result;
use crate::contender::count_one;
use crate::contender::driver::{Driver, Row, Value};
use crate::contender::together::Together;

/// Maximum messages per transaction.
const TOGETHER: usize = 1000;

/// Inserts the notifications and their items, and updates the counts.
const SEND: &str = "WITH n AS (INSERT INTO bare_notification (receiver_id, type_id, title, body, link, kind, published_at) \
     SELECT m.*, 2, $6 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) m \
     RETURNING id, receiver_id, type_id), i AS (INSERT INTO bare_item (user_id, notification_id, type_id) \
     SELECT receiver_id, id, type_id FROM n), o AS (INSERT INTO bare_overview AS o (user_id, type_id, unread, latest) \
     SELECT receiver_id, type_id, count(*), max(id) FROM n GROUP BY receiver_id, type_id ON CONFLICT (user_id, type_id) \
     DO UPDATE SET unread = o.unread + excluded.unread, latest = excluded.latest, latest_read_at = NULL) SELECT id FROM n";

/// The same for one message; triggers do the rest.
const SEND_SQLITE: &str = "INSERT INTO bare_notification (receiver_id, type_id, title, body, link, kind, published_at) \
     VALUES ($1, $2, $3, $4, $5, 2, $6)";

#[derive(Deserialize)]
pub struct Message {
    /// The code of the type.
    pub r#type: String,
    title: String,
    body: String,
    link: String,
}

/// A message to a user, of a type.
pub struct Letter {
    pub user: i64,
    pub kind: i64,
    pub message: Message,
}

/// Returns the id of each notification once it is on disk. One transaction at a time: messages that arrive during a
/// commit form the next batch.
pub fn outbox(driver: Arc<Driver>) -> Together<Letter, i64> {
    Together::new(1, TOGETHER, move |group| send(driver.clone(), group))
}

async fn send(driver: Arc<Driver>, group: Vec<Letter>) -> Result<Vec<i64>> {
    match &*driver {
        Driver::Postgres(_) => by_one(&driver, &group).await,
        Driver::Sqlite { write, .. } => by_triggers(write, &group).await,
    }
}

async fn by_one(driver: &Driver, group: &[Letter]) -> Result<Vec<i64>> {
    let numbers = |of: fn(&Letter) -> i64| group.iter().map(of).collect::<Vec<_>>();
    let (users, kinds) = (numbers(|one| one.user), numbers(|one| one.kind));
    let titles: Vec<&str> = group.iter().map(|one| one.message.title.as_str()).collect();
    let bodies: Vec<&str> = group.iter().map(|one| one.message.body.as_str()).collect();
    let links: Vec<&str> = group.iter().map(|one| one.message.link.as_str()).collect();
    let texts = [&titles, &bodies, &links].map(|texts| Value::Texts(texts));
    let [titles, bodies, links] = texts;
    let values = [Value::Numbers(&users), Value::Numbers(&kinds), titles, bodies, links, Value::Number(now())];
    let read = |rows: Vec<Row<'_>>| rows.iter().map(|row| row.number("id")).collect::<Result<Vec<_>>>();
    let ids = driver.rows(&SEND.into(), &values, read).await?;
    Ok(ids.into_iter().flatten().collect())
}

async fn by_triggers(write: &SqlitePool, group: &[Letter]) -> Result<Vec<i64>> {
    let (mut ids, at) = (Vec::with_capacity(group.len()), now());
    let mut txn = write.begin_with("BEGIN IMMEDIATE").await?;
    for Letter { user, kind, message, .. } in group {
        count_one();
        let query = sqlx::query(SEND_SQLITE).bind(user).bind(kind);
        let query = query.bind(&message.title).bind(&message.body).bind(&message.link).bind(at);
        ids.push(query.execute(&mut *txn).await?.last_insert_rowid());
    }
    txn.commit().await?;
    Ok(ids)
}

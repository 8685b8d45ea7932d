//! Erasing a user: nothing of what is theirs alone stays, and their number in nothing that stays.
//!
//! The first transaction deletes their row, by which everybody else knows that they are no user any more, and writes down
//! that the rest is to follow. That is a job: it takes what they had in batches, then looks through all that was sent.

use entity::ids::{Seq, UserId};
use sea_orm::ConnectionTrait;

use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::job::{self, Job, Next};
use crate::domain::notification::OF_USERS;
use crate::domain::tenant::{self, Tenant};
use crate::domain::{channel, check, tally};
use crate::error::Result;
use crate::hub::Notice;
use crate::sql::{LIST, Sql};

/// Notifications that are looked through in one transaction.
pub(super) const NOTIFICATIONS: i64 = 5000;

/// Rows of one table that are deleted in one transaction.
const ROWS: i64 = 2000;

/// What is about one user, each row with their `user_id`, and the column by which its batches are told apart.
///
/// Spans go last, for the items are counted by them.
pub(super) const TABLES: [(&str, &str); 6] = [
    ("inbox_item", "seq"),
    ("read_mark", "read_upto"),
    ("subscription", "channel_id"),
    ("preference", "subject_id"),
    ("view_visit", "view_id"),
    ("tally_span", "after_seq"),
];

/// Where what was sent names users: a table, the column by whose numbers it is gone through, and the one with the user. What
/// is to them is deleted with it, what is from them stays without.
pub(super) const SENT: [(&str, &str, &str); 4] = [
    ("recipient", "notification_id", "user_id"),
    ("notification", "id", "receiver_id"),
    ("notification", "id", "sender_id"),
    ("publication", "seq", "actor_id"),
];

/// Erases a user: profile, inbox, marks, subscriptions, preferences, visits, and the messages to them; what they sent stays,
/// from nobody. False where nothing of the kind is left. Their live sessions end.
///
/// A mention of the id makes a new user from the first transaction on. The rest follows before this returns; where it is cut
/// off, each node goes on with it, and so does the same call again.
pub async fn erase(app: &App, tenant: &Tenant, external_id: &str) -> Result<bool> {
    check::code("id", external_id)?;
    let erased = transaction!(app.db, |txn| begin(txn, tenant, external_id, app.now()).await)?;
    tenant::head(&app.db.read, tenant).await?;
    let jobs = job::named(app, tenant, job::Kind::Erase, external_id).await?;
    for job in &jobs {
        job::finish(app, tenant, *job).await?;
    }
    Ok(erased.is_some() || !jobs.is_empty())
}

/// Deletes the user's row, in which their id is free again, and writes down what follows.
///
/// Whoever writes something about users either locks their rows, or the tenant's, and looks where anybody was erased. So all
/// of it is there to be seen when the job begins, or never comes to be.
async fn begin(txn: &Transaction, tenant: &Tenant, external_id: &str, now: i64) -> Result<Option<UserId>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.id FROM users u WHERE u.tenant_id = ").bind(tenant.id);
    sql.push(" AND u.external_id = ").bind(external_id).for_update();
    let Some(row) = sql.one(txn).await? else { return Ok(None) };
    let user: UserId = row.try_get("", "id")?;
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM users WHERE id = ").bind(user);
    sql.run(txn).await?;
    job::begin(txn, tenant, (job::Kind::Erase, user.0), Some(external_id), now).await?;
    channel::close_actor(txn, tenant, user, now).await?;
    // The tenant's row last, for which every send waits.
    let mut sql = Sql::new(txn);
    sql.push("UPDATE tenant SET erased_count = erased_count + 1 WHERE id = ").bind(tenant.id);
    sql.run(txn).await?;
    txn.tell(Notice { erased: vec![user], ..Notice::of(tenant.id) });
    Ok(Some(user))
}

/// Deletes a batch of what somebody had who is no user any more, or of the traces of them in what was sent: at 0 the one, at
/// 1 and above the other, from that number on.
pub async fn step(txn: &Transaction, tenant: &Tenant, job: &Job) -> Result<Next> {
    let user = UserId(job.subject);
    if job.place > 0 {
        let next = erase_sent(txn, tenant, user, job.place).await?;
        // What they sent is shown without them.
        txn.tell(Notice { doubtful: next.is_none(), ..Notice::of(tenant.id) });
        return Ok(next.map_or(Next::Done, |place| Next::At { place, due_at: 0 }));
    }
    let mut place = 1;
    for (table, key) in TABLES {
        if table == "tally_span" && place == 0 {
            // They tell what is still to be counted of the items that are left.
            break;
        }
        let end = end_of_batch(txn, (table, key), user).await?;
        if table == "inbox_item" {
            // They were reached and have read, whoever they were.
            tally::settle_up_to(txn, tenant, user, end.map_or(Seq(i64::MAX), Seq)).await?;
        }
        if delete_batch(txn, (table, key), user, end).await? {
            place = 0;
        }
    }
    Ok(Next::At { place, due_at: 0 })
}

/// Where the first batch of a user's rows of a table ends; nothing where all that there are make one.
pub(super) async fn end_of_batch(
    db: &impl ConnectionTrait,
    (table, key): (&str, &str),
    user: UserId,
) -> Result<Option<i64>> {
    let mut sql = Sql::new(db);
    sql.push(&format!("SELECT {key} AS key_end FROM {table} WHERE user_id = ")).bind(user);
    sql.push(&format!(" ORDER BY {key} LIMIT 1 OFFSET ")).bind(ROWS - 1);
    sql.one(db).await?.map(|row| Ok(row.try_get("", "key_end")?)).transpose()
}

/// Deletes a user's rows of a table up to where a batch ends; whether there may be more.
pub(super) async fn delete_batch(
    txn: &Transaction,
    (table, key): (&str, &str),
    user: UserId,
    end: Option<i64>,
) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push(&format!("DELETE FROM {table} WHERE user_id = ")).bind(user);
    if let Some(end) = end {
        sql.push(&format!(" AND {key} <= ")).bind(end);
    }
    sql.run(txn).await?;
    Ok(end.is_some())
}

/// Looks through some notifications from a number on: those to the user go, those from them stay. Returns where to go on.
///
/// Looked for first, and then changed by their keys: MySQL would lock all that it looks through.
pub(super) async fn erase_sent(txn: &Transaction, tenant: &Tenant, user: UserId, from: i64) -> Result<Option<i64>> {
    let next = from + NOTIFICATIONS;
    let range = |sql: &mut Sql, column: &str| {
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(&format!(" AND {column} >= ")).bind(from);
        sql.push(&format!(" AND {column} < ")).bind(next);
    };
    for (table, key, column) in SENT {
        let mut sql = Sql::new(txn);
        sql.push(&format!("SELECT {key} AS found FROM {table}"));
        range(&mut sql, key);
        sql.push(&format!(" AND {column} = ")).bind(user);
        let rows = sql.all(txn).await?;
        let mut found =
            rows.iter().map(|row| row.try_get("", "found")).collect::<std::result::Result<Vec<i64>, _>>()?;
        found.dedup();
        for ids in found.chunks(LIST) {
            if column == "receiver_id" {
                let mut sql = Sql::new(txn);
                sql.push("DELETE FROM schedule WHERE tenant_id = ").bind(tenant.id);
                sql.push(" AND notification_id").among(ids);
                sql.run(txn).await?;
            }
            let mut sql = Sql::new(txn);
            match column {
                "sender_id" => {
                    // A key of their own tells whose it was; the backend's goes on sending once.
                    sql.push("UPDATE notification SET sender_id = NULL, idempotency_key = ");
                    sql.push("CASE WHEN idempotency_key LIKE ");
                    sql.bind(format!("{OF_USERS}%")).push(" THEN NULL ELSE idempotency_key END")
                }
                "actor_id" => sql.push("UPDATE publication SET actor_id = NULL"),
                _ => sql.push(&format!("DELETE FROM {table}")),
            };
            sql.push(" WHERE tenant_id = ").bind(tenant.id).push(&format!(" AND {key}")).among(ids);
            sql.push(&format!(" AND {column} = ")).bind(user);
            sql.run(txn).await?;
        }
    }
    Ok((next <= end_of_sent(txn, tenant).await?).then_some(next))
}

/// The last number of all that a tenant has sent, by whichever key it is gone through.
pub(super) async fn end_of_sent(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<i64> {
    let mut sql = Sql::new(db);
    sql.push("SELECT t.last_seq, t.last_notification_id FROM tenant t WHERE t.id = ").bind(tenant.id);
    let Some(row) = sql.one(db).await? else { return Ok(0) };
    Ok(row.try_get::<i64>("", "last_seq")?.max(row.try_get("", "last_notification_id")?))
}

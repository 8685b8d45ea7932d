//! The sweep: what is past the retention window is deleted, in small batches, each a transaction of its own.
//!
//! Publications go first, so that no inbox gets any of it any more; then the items of all inboxes; then what they show.
//! Readers see each item with all that belongs to it, or not at all, and no batch holds more locks than its own rows.

use entity::ids::{Seq, TenantId, UserId};
use sea_orm::DbBackend;

use super::tenant::{self, Failures, Tenant};
use super::{action, channel, tally, user, view};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::error::{Error, Result};
use crate::sql::Sql;

/// Rows of one transaction.
const ROWS: i64 = 2000;

/// Users whose inboxes are looked through in one statement.
const USERS: i64 = 200;

/// For so long what has expired stays where it is, in milliseconds: a node whose clock is behind may yet show and count it.
const CLOCKS: Millis = 300_000;

/// Before which instants things are old.
#[derive(Clone, Copy)]
struct Old {
    published: Millis,
    expired: Millis,
}

/// What a sweep deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub publications: u64,
    pub items: u64,
    pub notifications: u64,
    /// Channels that nobody listens to, and to which nothing is published any more.
    pub channels: u64,
    /// Actions that nobody used for the whole retention window, and that nothing names.
    pub actions: u64,
    /// Views that nobody touched for a year, and keys of activities past the retention window.
    pub views: u64,
}

/// Deletes everything that is past the retention window, of all tenants, and items that have expired. Where a tenant fails, the
/// others go on, and then the first failure is returned.
///
/// It goes by the database's clock, and only where this node's says about the same: `UNAVAILABLE` otherwise.
pub async fn sweep(app: &App) -> Result<Swept> {
    app.compare_clocks().await?;
    if app.agreed.is_in_doubt() {
        return Err(Error::Unavailable(format!("{}: nothing is deleted until they agree", app.agreed.told())));
    }
    let now = app.now();
    let old = Old { published: now - app.config.retention_millis(), expired: now - CLOCKS };
    // Of what is old, nothing is counted any more from here on.
    tally::settle_all(app).await?;
    let mut swept = Swept::default();
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT t.id FROM tenant t ORDER BY t.id");
    let mut failures = Failures::default();
    for row in sql.all(&app.db.read).await? {
        let tenant = row.try_get("", "id")?;
        failures.note(app, tenant, sweep_tenant(app, tenant, old, &mut swept).await);
    }
    loop {
        let views = view::sweep(app).await?;
        swept.views += views;
        if views == 0 {
            return failures.end().map(|()| swept);
        }
    }
}

async fn sweep_tenant(app: &App, tenant: TenantId, old: Old, swept: &mut Swept) -> Result<()> {
    let tenant = &*tenant::by_id(app, tenant).await?;
    let upto = Seq(user::before(&app.db.read, tenant, old.published).await?);
    let is_news = swept_upto(app, tenant).await? < upto;
    if is_news {
        swept.publications += delete(app, tenant, Rows::Publications, upto).await?;
    }
    if is_news || has_expired(app, tenant, old.expired).await? {
        swept.items += sweep_inboxes(app, tenant, upto, old.expired).await?;
    }
    if is_news {
        swept.notifications += delete(app, tenant, Rows::Notifications, upto).await?;
        delete(app, tenant, Rows::Amendments, upto).await?;
        transaction!(app.db, |txn| {
            let mut sql = Sql::new(txn);
            sql.push("UPDATE tenant SET swept_seq = ").bind(upto).push(" WHERE id = ").bind(tenant.id);
            sql.run(txn).await
        })?;
    }
    swept.notifications += transaction!(app.db, |txn| delete_cancelled(txn, tenant, old.published).await)?;
    swept.channels += channel::sweep(app, tenant).await?;
    swept.actions += action::sweep(app, tenant, old.published).await?;
    Ok(())
}

async fn swept_upto(app: &App, tenant: &Tenant) -> Result<Seq> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT t.swept_seq FROM tenant t WHERE t.id = ").bind(tenant.id);
    Ok(sql.one(&app.db.read).await?.map_or(Ok(Seq(0)), |row| row.try_get("", "swept_seq"))?)
}

async fn has_expired(app: &App, tenant: &Tenant, before: Millis) -> Result<bool> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT n.id FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.expires_at <= ").bind(before).push(" LIMIT 1");
    Ok(sql.one(&app.db.read).await?.is_some())
}

/// Rows of a tenant's log.
#[derive(Clone, Copy)]
enum Rows {
    Publications,
    Notifications,
    Amendments,
}

/// Deletes rows of the log up to a place, by ranges of it.
async fn delete(app: &App, tenant: &Tenant, rows: Rows, upto: Seq) -> Result<u64> {
    let table = match rows {
        Rows::Publications => "publication",
        Rows::Notifications => "notification",
        Rows::Amendments => "amendment",
    };
    let mut deleted = 0;
    loop {
        let batch = transaction!(app.db, |txn| {
            let mut sql = Sql::new(txn);
            sql.push(&format!("SELECT seq FROM {table} WHERE tenant_id = ")).bind(tenant.id);
            sql.push(" AND seq <= ").bind(upto).push(" ORDER BY seq LIMIT 1 OFFSET ").bind(ROWS - 1);
            let row = sql.one(txn).await?;
            let end: Seq = row.map_or(Ok(upto), |row| row.try_get("", "seq"))?;
            let mut sql = Sql::new(txn);
            sql.push(&format!("DELETE FROM {table} WHERE tenant_id = ")).bind(tenant.id);
            sql.push(" AND seq <= ").bind(end);
            sql.run(txn).await
        })?;
        deleted += batch;
        if batch < ROWS.unsigned_abs() {
            return Ok(deleted);
        }
    }
}

/// Notifications that were retracted before their time have no place in the log.
async fn delete_cancelled(txn: &Transaction, tenant: &Tenant, before: Millis) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM notification WHERE tenant_id = ").bind(tenant.id);
    sql.push(" AND seq IS NULL AND retracted_at < ").bind(before);
    sql.run(txn).await
}

/// Goes through the inboxes of a tenant's users, in the order of their rows.
async fn sweep_inboxes(app: &App, tenant: &Tenant, upto: Seq, expired: Millis) -> Result<u64> {
    let (mut deleted, mut after) = (0, UserId(0));
    loop {
        let (last, users) = with_something_old(app, tenant, (upto, expired), after).await?;
        for users in users.chunks(100) {
            loop {
                let batch = transaction!(app.db, |txn| delete_items(txn, tenant, users, (upto, expired)).await)?;
                deleted += batch;
                if batch < ROWS.unsigned_abs() {
                    break;
                }
            }
            transaction!(app.db, |txn| delete_marks(txn, users, upto).await)?;
        }
        match last {
            Some(last) => after = last,
            None => return Ok(deleted),
        }
    }
}

/// The last of the users after one that were looked at, if there may be more, and those of them with something to delete.
async fn with_something_old(
    app: &App,
    tenant: &Tenant,
    (upto, expired): (Seq, Millis),
    after: UserId,
) -> Result<(Option<UserId>, Vec<UserId>)> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT u.id, CASE WHEN (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.seq <= ").bind(upto);
    sql.push(" LIMIT 1) IS NOT NULL OR (SELECT i.seq FROM inbox_item i WHERE i.user_id = u.id AND i.expires_at <= ");
    sql.bind(expired).push(" LIMIT 1) IS NOT NULL OR (SELECT m.read_at FROM read_mark m WHERE m.user_id = u.id ");
    sql.push("AND m.read_upto <= ").bind(upto).push(" LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END AS is_old ");
    sql.push("FROM users u WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id > ").bind(after);
    sql.push(" ORDER BY u.id LIMIT ").bind(USERS);
    let rows = sql.all(&app.db.read).await?;
    let mut users = Vec::new();
    let mut last = None;
    for row in &rows {
        let user = row.try_get("", "id")?;
        last = Some(user);
        if row.try_get::<i32>("", "is_old")? == 1 {
            users.push(user);
        }
    }
    let is_full = rows.len() as u64 == USERS.unsigned_abs();
    Ok((last.filter(|_| is_full), users))
}

/// Deletes the marks over what is old, once nothing is left that they could be about.
async fn delete_marks(txn: &Transaction, users: &[UserId], upto: Seq) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM read_mark WHERE user_id").among(users).push(" AND read_upto <= ").bind(upto);
    sql.run(txn).await
}

/// Deletes a batch of what is old, or has expired, in the inboxes of users. An inbox that nobody has looked into since may
/// not know yet that something was put off: there the notification decides.
async fn delete_items(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    (upto, expired): (Seq, Millis),
) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM inbox_item WHERE (user_id, seq) IN (");
    if sql.backend() == DbBackend::MySql {
        // MySQL reads what it deletes from only where it has been read before.
        sql.push("SELECT o.user_id, o.seq FROM (");
    }
    sql.push("SELECT i.user_id, i.seq FROM inbox_item i WHERE i.user_id").among(users);
    sql.push(" AND (i.seq <= ").bind(upto).push(" OR (i.expires_at <= ").bind(expired);
    sql.push(" AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.seq = i.seq AND (n.expires_at IS NULL OR n.expires_at > ").bind(expired);
    sql.push(")))) LIMIT ").bind(ROWS);
    if sql.backend() == DbBackend::MySql {
        sql.push(") o");
    }
    sql.push(")");
    let deleted = sql.run(txn).await?;
    if deleted > 0 {
        user::changed(txn, tenant, users).await?;
    }
    Ok(deleted)
}

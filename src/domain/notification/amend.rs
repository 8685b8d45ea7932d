//! Amending and retracting: one entry of the log, whatever the audience. Every inbox applies it at its next sync, which
//! comes before any read.

use entity::ids::Seq;

use super::content::ContentChange;
use super::draft::check_instants;
use super::envelope::expiry;
use super::{Content, Notification, Status, find, read, schedule, select};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::Sql;

/// What to change of a notification.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    pub content: Option<ContentChange>,
    /// Only while it is scheduled. What is not in the future means at once.
    pub publish_at: Option<Millis>,
    /// `Some(None)`: by the type's ttl again.
    pub expires_at: Option<Option<Millis>>,
}

/// Changes a notification that is scheduled or published, and returns it; nothing where there is none. `CONFLICT` where
/// it is retracted or has expired.
pub async fn update(app: &App, tenant: &Tenant, id: i64, patch: &Patch) -> Result<Option<Notification>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let end = transaction!(app.db, |txn| {
        let is_scheduled = schedule::lock(txn, tenant, id).await?;
        let Some(of) = lock(txn, tenant, &catalogue, id).await? else { return Ok(None) };
        let now = app.now();
        match of.status(now) {
            Status::Retracted => return Err(Error::Conflict("the notification is retracted".into())),
            Status::Expired => return Err(Error::Conflict("the notification has expired".into())),
            Status::Scheduled if is_scheduled => {}
            Status::Scheduled => return Err(Error::Unavailable("the notification is being published".into())),
            Status::Published if patch.publish_at.is_some() => {
                return Err(Error::Conflict("publishAt: the notification is published already".into()));
            }
            Status::Published => {}
        }
        change(txn, tenant, of, patch, now).await
    })?;
    tenant.saw(end.unwrap_or_default());
    find(app, tenant, id).await
}

/// Takes a notification out of every inbox, or keeps it from being published, and returns it; nothing where there is none.
/// Doing so again changes nothing.
pub async fn retract(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let end = transaction!(app.db, |txn| {
        schedule::lock(txn, tenant, id).await?;
        let Some(of) = lock(txn, tenant, &catalogue, id).await? else { return Ok(None) };
        if of.retracted_at.is_some() {
            return Ok(None);
        }
        let now = app.now();
        let mut sql = Sql::new(txn);
        sql.push("UPDATE notification SET retracted_at = ").bind(now);
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND id = ").bind(id);
        sql.run(txn).await?;
        let Some(seq) = of.seq else {
            schedule::forget(txn, tenant, &[id]).await?;
            return Ok(None);
        };
        // Whoever has not synced it yet never does.
        let mut sql = Sql::new(txn);
        sql.push("UPDATE publication SET expires_at = 0 WHERE tenant_id = ").bind(tenant.id);
        sql.push(" AND seq = ").bind(seq);
        sql.run(txn).await?;
        amend(txn, tenant, seq).await
    })?;
    tenant.saw(end.unwrap_or_default());
    find(app, tenant, id).await
}

/// Locks a notification against other amendments, and reads it.
async fn lock(txn: &Transaction, tenant: &Tenant, catalogue: &Catalogue, id: i64) -> Result<Option<Notification>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT n.id FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.id = ").bind(id).for_update();
    if sql.one(txn).await?.is_none() {
        return Ok(None);
    }
    let mut sql = select(txn, tenant);
    sql.push(" AND n.id = ").bind(id);
    sql.one(txn).await?.map(|row| read(&row, catalogue)).transpose()
}

/// Returns the place in the log that says so, where one does.
async fn change(
    txn: &Transaction,
    tenant: &Tenant,
    of: Notification,
    patch: &Patch,
    now: Millis,
) -> Result<Option<Seq>> {
    let expires_at = match patch.expires_at {
        None => of.expires_at,
        // The instant of an entry of the log may be a little ahead.
        Some(said) => of.published_at.map_or(said, |at| expiry(said, &of.message_type, at.min(now))),
    };
    let publish_at = patch.publish_at.map(|at| at.max(now)).or(of.publish_at);
    check_instants(if of.seq.is_none() { publish_at } else { None }, expires_at, now)
        .map_err(|error| error.within("input"))?;
    let is_new_text = patch.content.is_some();
    let content = of.content.clone().changed(patch.content.clone().unwrap_or_default());
    content.check(&of.message_type).map_err(|error| error.within("input"))?;

    write(txn, tenant, &of, &content, (publish_at, expires_at), is_new_text.then_some(now)).await?;
    let Some(seq) = of.seq else {
        if let Some(publish_at) = patch.publish_at {
            schedule::postpone(txn, tenant, of.id, publish_at).await?;
        }
        return Ok(None);
    };
    if expires_at != of.expires_at {
        let mut sql = Sql::new(txn);
        sql.push("UPDATE publication SET expires_at = ").bind(expires_at);
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND seq = ").bind(seq);
        sql.run(txn).await?;
        return amend(txn, tenant, seq).await;
    }
    // Text stands once, in the notification: whoever shows it reads it again, once he knows that it is another.
    let mut sql = Sql::new(txn);
    sql.push("UPDATE tenant SET text_version = text_version + 1 WHERE id = ").bind(tenant.id);
    sql.run(txn).await?;
    txn.tell(Notice { items: vec![seq], ..Notice::of(tenant.id) });
    Ok(None)
}

async fn write(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Notification,
    content: &Content,
    (publish_at, expires_at): (Option<Millis>, Option<Millis>),
    updated_at: Option<Millis>,
) -> Result<()> {
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    let mut sql = Sql::new(txn);
    sql.push("UPDATE notification SET title = ").bind(content.title.clone());
    sql.push(", body = ").bind(content.body.clone()).push(", link = ").bind(content.link.clone());
    sql.push(", params = ").bind(json(&content.params)).push(", data = ").bind(json(&content.data));
    sql.push(", publish_at = ").bind(publish_at).push(", expires_at = ").bind(expires_at);
    sql.push(", updated_at = ").bind(updated_at.or(of.updated_at));
    sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND id = ").bind(of.id);
    sql.run(txn).await?;
    Ok(())
}

/// Takes a place in the log, which it returns, for saying that the one at `subject` is another now.
async fn amend(txn: &Transaction, tenant: &Tenant, subject: Seq) -> Result<Option<Seq>> {
    let mut sql = Sql::new(txn);
    // In this order: MySQL goes by what it has set already.
    sql.push("UPDATE tenant SET amended_seq = last_seq + 1, last_seq = last_seq + 1 WHERE id = ").bind(tenant.id);
    sql.run(txn).await?;
    let mut sql = Sql::new(txn);
    sql.push("SELECT last_seq FROM tenant WHERE id = ").bind(tenant.id);
    let row = sql.one(txn).await?.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    let seq: Seq = row.try_get("", "last_seq")?;
    let mut sql = Sql::new(txn);
    sql.push("INSERT INTO amendment (tenant_id, seq, subject_seq) VALUES (").bind(tenant.id);
    sql.push(", ").bind(seq).push(", ").bind(subject).push(")");
    sql.run(txn).await?;
    txn.tell(Notice { seqs: vec![(seq, seq)], items: vec![subject], ..Notice::of(tenant.id) });
    Ok(Some(seq))
}

//! Notifications: what was sent, stored once, however many users it reaches.

mod amend;
mod commit;
mod content;
mod draft;
mod envelope;
mod grouped;
mod key;
mod list;
mod publish;
mod schedule;
mod send;
mod write;

use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::{ConnectionTrait, QueryResult};

use super::catalogue::{self, Catalogue, MessageType};
use super::channel::Target;
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::sql::{LIST, Sql};

pub use amend::{Patch, retract, update};
pub use commit::Outbox;
pub use content::{Content, ContentChange};
pub use draft::{Addressees, Input};
pub use entity::notification::Kind;
pub use key::OF_USERS;
pub use list::{Filter, Page, page, sent_by};
pub use schedule::publish_due;
pub use send::{Sent, send};

/// Whom a notification addresses by itself; a reminder leaves that to the subscriptions.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Audience {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everyone: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How many users are named one by one.
    #[serde(skip_serializing_if = "is_zero")]
    pub users: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Where a notification is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It waits for its time.
    Scheduled,
    /// In the inboxes of those it reaches.
    Published,
    /// In no list and no count any more.
    Expired,
    /// Taken back, before or after it was published.
    Retracted,
}

/// What was sent, or will be.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Its number within the tenant.
    pub id: i64,
    /// Its place in the log, once it is published.
    pub seq: Option<Seq>,
    pub kind: Kind,
    pub message_type: Arc<MessageType>,
    pub content: Content,
    pub sender: Option<UserId>,
    pub target: Option<Target>,
    pub action: Option<String>,
    pub audience: Audience,
    pub created_at: Millis,
    /// When it is to be published, where it was scheduled.
    pub publish_at: Option<Millis>,
    pub published_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    /// When its text was last amended.
    pub updated_at: Option<Millis>,
    pub retracted_at: Option<Millis>,
    /// Users addressed when it was published; nothing until they were counted.
    pub audience_size: Option<i64>,
    /// Inboxes in which it has arrived, as far as they were counted.
    pub delivered_count: i64,
    /// Users who have read it, as far as they were counted.
    pub read_count: i64,
}

impl Notification {
    /// Where it is at this instant.
    pub fn status(&self, now: Millis) -> Status {
        match self {
            Self { retracted_at: Some(_), .. } => Status::Retracted,
            Self { seq: None, .. } => Status::Scheduled,
            Self { expires_at: Some(at), .. } if *at <= now => Status::Expired,
            _ => Status::Published,
        }
    }
}

/// The notification with this number.
pub async fn find(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    Ok(load(app, tenant, &[id]).await?.pop())
}

/// The notifications of a tenant with these numbers, in any order.
async fn load(app: &App, tenant: &Tenant, ids: &[i64]) -> Result<Vec<Notification>> {
    let db = &app.db.read;
    let mut sql = select(db, tenant);
    sql.push(" AND n.id").among(ids);
    let rows = sql.all(db).await?;
    let catalogue = catalogue::current(app, tenant).await?;
    rows.iter().map(|row| read(row, &catalogue)).collect()
}

/// A statement for notifications `n` of a tenant, to which conditions are added.
fn select(db: &impl ConnectionTrait, tenant: &Tenant) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT n.id, n.seq, n.kind, n.type_id, n.title, n.body, n.link, n.params, n.data, n.sender_id, ")
        .push("n.receiver_id, n.target_type, n.target_id, n.action_id, a.code AS action, n.audience, n.created_at, ")
        .push("n.publish_at, n.published_at, n.expires_at, n.updated_at, n.retracted_at, n.audience_size, ")
        .push("n.delivered_count, n.read_count FROM notification n LEFT JOIN action a ON a.id = n.action_id ")
        .push("WHERE n.tenant_id = ")
        .bind(tenant.id);
    sql
}

fn read(row: &QueryResult, catalogue: &Catalogue) -> Result<Notification> {
    let json = |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal);
    let kind: TypeId = row.try_get("", "type_id")?;
    let message_type = catalogue.type_by_id(kind).cloned();
    let target_id: Option<String> = row.try_get("", "target_id")?;
    let target_type: Option<String> = row.try_get("", "target_type")?;
    let audience: String = row.try_get("", "audience")?;
    Ok(Notification {
        id: row.try_get("", "id")?,
        seq: row.try_get("", "seq")?,
        kind: row.try_get("", "kind")?,
        message_type: message_type
            .ok_or_else(|| Error::internal(format!("message type {kind} is not in the catalogue")))?,
        content: Content {
            title: row.try_get("", "title")?,
            body: row.try_get("", "body")?,
            link: row.try_get("", "link")?,
            params: json(row.try_get("", "params")?)?,
            data: json(row.try_get("", "data")?)?,
        },
        sender: row.try_get("", "sender_id")?,
        target: target_type.zip(target_id).map(|(target_type, id)| Target { target_type, id }),
        action: row.try_get("", "action")?,
        audience: serde_json::from_str(&audience).map_err(Error::internal)?,
        created_at: row.try_get("", "created_at")?,
        publish_at: row.try_get("", "publish_at")?,
        published_at: row.try_get("", "published_at")?,
        expires_at: row.try_get("", "expires_at")?,
        updated_at: row.try_get("", "updated_at")?,
        retracted_at: row.try_get("", "retracted_at")?,
        audience_size: row.try_get("", "audience_size")?,
        delivered_count: row.try_get("", "delivered_count")?,
        read_count: row.try_get("", "read_count")?,
    })
}

/// The numbers and fingerprints of what was sent under idempotency keys, as they are kept.
async fn by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> Result<Vec<(String, i64, i64)>> {
    let mut found = Vec::new();
    for keys in keys.chunks(LIST) {
        let mut sql = Sql::new(db);
        sql.push("SELECT n.idempotency_key, n.id, n.fingerprint FROM notification n WHERE n.tenant_id = ");
        sql.bind(tenant.id).push(" AND n.idempotency_key").among(keys);
        for row in sql.all(db).await? {
            found.push((row.try_get("", "idempotency_key")?, row.try_get("", "id")?, row.try_get("", "fingerprint")?));
        }
    }
    Ok(found)
}

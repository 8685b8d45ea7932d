//! Notifications: what was sent, stored once, however many users it reaches.

mod commit;
mod draft;
mod send;
mod write;

use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::{ConnectionTrait, QueryResult};
use serde_json::Value;

use super::catalogue::{self, MessageType};
use super::channel::Target;
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::sql::Sql;

pub use commit::Outbox;
pub use draft::{Addressees, Content, Input};
pub use send::{Sent, send};

/// What a notification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum Kind {
    /// Sent by an operator to an audience.
    Announcement = 0,
    /// Raised by something that happened to a target.
    Reminder = 1,
    /// Addressed to one user.
    Message = 2,
}

impl Kind {
    /// From a table.
    pub fn of(kind: i16) -> Self {
        match kind {
            1 => Self::Reminder,
            2 => Self::Message,
            _ => Self::Announcement,
        }
    }
}

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

/// What was sent.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Its number within the tenant.
    pub id: i64,
    pub seq: Seq,
    pub kind: Kind,
    pub message_type: Arc<MessageType>,
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    pub data: Option<Value>,
    pub sender: Option<UserId>,
    pub target: Option<Target>,
    pub action: Option<String>,
    pub audience: Audience,
    pub created_at: Millis,
    pub published_at: Millis,
    pub expires_at: Option<Millis>,
}

/// The notification with this number.
pub async fn find(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    Ok(load(app, tenant, &[id]).await?.pop())
}

/// The notifications of a tenant with these numbers, in any order.
async fn load(app: &App, tenant: &Tenant, ids: &[i64]) -> Result<Vec<Notification>> {
    let db = &app.db.read;
    let mut sql = Sql::new(db);
    sql.push("SELECT n.id, n.seq, n.kind, n.type_id, n.title, n.body, n.link, n.data, n.sender_id, n.target_type, ")
        .push("n.target_id, a.code AS action, n.audience, n.created_at, n.published_at, n.expires_at ")
        .push("FROM notification n LEFT JOIN action a ON a.id = n.action_id WHERE n.tenant_id = ")
        .bind(tenant.id)
        .push(" AND n.seq IS NOT NULL AND n.id")
        .in_ids(ids);
    let rows = sql.all(db).await?;
    let catalogue = catalogue::current(app, tenant).await?;
    rows.iter()
        .map(|row| {
            let id: TypeId = row.try_get("", "type_id")?;
            let kind = catalogue.type_by_id(id).cloned();
            read(row, kind.ok_or_else(|| Error::internal(format!("message type {id} is not in the catalogue")))?)
        })
        .collect()
}

fn read(row: &QueryResult, message_type: Arc<MessageType>) -> Result<Notification> {
    let json = |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal);
    let target_id: Option<String> = row.try_get("", "target_id")?;
    let target_type: Option<String> = row.try_get("", "target_type")?;
    let audience: String = row.try_get("", "audience")?;
    Ok(Notification {
        id: row.try_get("", "id")?,
        seq: row.try_get("", "seq")?,
        kind: Kind::of(row.try_get("", "kind")?),
        message_type,
        title: row.try_get("", "title")?,
        body: row.try_get("", "body")?,
        link: row.try_get("", "link")?,
        data: json(row.try_get("", "data")?)?,
        sender: row.try_get("", "sender_id")?,
        target: target_type.zip(target_id).map(|(target_type, id)| Target { target_type, id }),
        action: row.try_get("", "action")?,
        audience: serde_json::from_str(&audience).map_err(Error::internal)?,
        created_at: row.try_get("", "created_at")?,
        published_at: row.try_get("", "published_at")?,
        expires_at: row.try_get("", "expires_at")?,
    })
}

/// The numbers and fingerprints of what was sent under idempotency keys.
async fn by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> Result<Vec<(String, i64, i64)>> {
    let mut found = Vec::new();
    for keys in keys.chunks(1000) {
        let mut sql = Sql::new(db);
        sql.push("SELECT n.idempotency_key, n.id, n.fingerprint FROM notification n WHERE n.tenant_id = ");
        sql.bind(tenant.id).push(" AND n.idempotency_key").in_texts(keys);
        for row in sql.all(db).await? {
            found.push((row.try_get("", "idempotency_key")?, row.try_get("", "id")?, row.try_get("", "fingerprint")?));
        }
    }
    Ok(found)
}

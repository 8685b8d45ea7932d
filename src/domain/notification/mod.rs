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
mod statement;
mod write;

use std::sync::Arc;

use entity::action;
use entity::ids::{Seq, UserId};
use entity::notification::{self, Column, Entity as Notifications, Relation};
use entity::prelude::*;
use sea_orm::Select;

use super::catalogue::{self, Catalogue, MessageType};
use super::channel::Target;
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::error::{Error, Result};

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
    let stored: Vec<Row> = stored(tenant).filter(Column::Id.among(db, ids)).into_model().all(db).await?;
    let catalogue = catalogue::current(app, tenant).await?;
    stored.into_iter().map(|row| row.read(&catalogue)).collect()
}

/// A notification as it is stored, and the code of its action.
#[derive(FromQueryResult)]
struct Row {
    #[sea_orm(nested)]
    of: notification::Model,
    action: Option<String>,
}

/// A statement for a tenant's notifications as [`Row`]s, to which conditions are added.
fn stored(tenant: &Tenant) -> Select<Notifications> {
    let stored = Notifications::of_tenant(tenant.id).join(JoinType::LeftJoin, Relation::Action.def());
    stored.column_as(action::Column::Code, "action")
}

impl Row {
    fn read(self, catalogue: &Catalogue) -> Result<Notification> {
        let Self { of, action } = self;
        let json =
            |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal);
        let message_type = catalogue.type_by_id(of.type_id).cloned();
        Ok(Notification {
            id: of.id,
            seq: of.seq,
            kind: of.kind,
            message_type: message_type
                .ok_or_else(|| Error::internal(format!("message type {} is not in the catalogue", of.type_id)))?,
            content: Content {
                title: of.title,
                body: of.body,
                link: of.link,
                params: json(of.params)?,
                data: json(of.data)?,
            },
            sender: of.sender_id,
            target: of.target_type.zip(of.target_id).map(|(target_type, id)| Target { target_type, id }),
            action,
            audience: serde_json::from_str(&of.audience).map_err(Error::internal)?,
            created_at: of.created_at,
            publish_at: of.publish_at,
            published_at: of.published_at,
            expires_at: of.expires_at,
            updated_at: of.updated_at,
            retracted_at: of.retracted_at,
            audience_size: of.audience_size,
            delivered_count: of.delivered_count,
            read_count: of.read_count,
        })
    }
}

/// The numbers and fingerprints of what was sent under idempotency keys, as they are kept.
async fn by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> Result<Vec<(String, i64, i64)>> {
    let mut found = Vec::new();
    for keys in keys.chunks(LIST) {
        let some = Notifications::of_tenant(tenant.id).filter(Column::IdempotencyKey.among(db, keys)).select_only();
        let some = some.columns([Column::IdempotencyKey, Column::Id, Column::Fingerprint]);
        found.extend(some.into_tuple::<(String, i64, i64)>().all(db).await?);
    }
    Ok(found)
}

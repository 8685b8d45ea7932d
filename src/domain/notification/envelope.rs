//! What publishing must know of a notification: everything but what it says.

use std::sync::Arc;

use entity::ids::{ActionId, ChannelId, UserId};
use sea_orm::{ConnectionTrait, QueryResult};

use super::{Audience, Kind, Notification};
use crate::clock::Millis;
use crate::domain::catalogue::{Catalogue, MessageType};
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::Sql;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub kind: Kind,
    pub message_type: Arc<MessageType>,
    pub recipients: Recipients,
    pub sender: Option<UserId>,
    pub target: Option<Target>,
    pub action: Option<(String, ActionId)>,
    pub audience: Audience,
    /// As the caller said; by the type's ttl otherwise.
    pub expires_at: Option<Millis>,
    /// The version of the catalogue by which type and groups were looked up.
    pub catalogue_version: i64,
}

/// Whom it is for, looked up.
#[derive(Clone, Debug)]
pub(super) enum Recipients {
    Everyone,
    Groups(Vec<ChannelId>),
    Users(Vec<UserId>),
    /// Subscribers of the target's channel, and followers of the sender.
    Subscribers,
}

impl Envelope {
    /// When it expires if it is published at this instant.
    pub fn expires_at(&self, published_at: Millis) -> Option<Millis> {
        expiry(self.expires_at, &self.message_type, published_at)
    }

    /// The users named one by one, a message's receiver among them.
    pub fn named(&self) -> &[UserId] {
        if let Recipients::Users(users) = &self.recipients { users } else { &[] }
    }

    /// Whom a message is for.
    pub fn receiver(&self) -> Option<UserId> {
        if self.kind == Kind::Message { self.named().first().copied() } else { None }
    }

    /// Of a notification that was scheduled, by the catalogue of now: a group that has gone since is left out.
    pub async fn scheduled(
        db: &impl ConnectionTrait,
        tenant: &Tenant,
        catalogue: &Catalogue,
        of: &Notification,
        row: &QueryResult,
    ) -> Result<Self> {
        let recipients = match of.kind {
            Kind::Message => Recipients::Users(row.try_get::<Option<UserId>>("", "receiver_id")?.into_iter().collect()),
            Kind::Reminder => Recipients::Subscribers,
            Kind::Announcement if of.audience.everyone => Recipients::Everyone,
            Kind::Announcement if of.audience.users > 0 => Recipients::Users(named(db, tenant, of.id).await?),
            Kind::Announcement => {
                let groups = of.audience.groups.iter().filter_map(|code| catalogue.groups.get(code));
                Recipients::Groups(groups.map(|group| group.channel).collect())
            }
        };
        let action = row.try_get::<Option<ActionId>>("", "action_id")?;
        Ok(Self {
            kind: of.kind,
            message_type: of.message_type.clone(),
            recipients,
            sender: of.sender,
            target: of.target.clone(),
            action: of.action.clone().zip(action),
            audience: of.audience.clone(),
            expires_at: of.expires_at,
            catalogue_version: catalogue.version,
        })
    }
}

/// When something expires: as its sender said, or by its type's ttl.
pub(super) fn expiry(expires_at: Option<Millis>, kind: &MessageType, published_at: Millis) -> Option<Millis> {
    expires_at.or(kind.ttl_seconds.map(|ttl| published_at.saturating_add(ttl.saturating_mul(1000))))
}

async fn named(db: &impl ConnectionTrait, tenant: &Tenant, id: i64) -> Result<Vec<UserId>> {
    let mut sql = Sql::new(db);
    sql.push("SELECT r.user_id FROM recipient r WHERE r.tenant_id = ").bind(tenant.id);
    sql.push(" AND r.notification_id = ").bind(id);
    sql.all(db).await?.iter().map(|row| Ok(row.try_get("", "user_id")?)).collect()
}

pub(super) fn message_type(catalogue: &Catalogue, code: &str) -> Result<Arc<MessageType>> {
    let kind = catalogue.message_type(code).cloned();
    kind.ok_or_else(|| Error::bad_input("type", format!("no message type {code:?}")))
}

pub(super) fn groups(catalogue: &Catalogue, codes: &[String]) -> Result<Vec<ChannelId>> {
    let find = |code: &String| {
        let group = catalogue.groups.get(code).map(|group| group.channel);
        group.ok_or_else(|| Error::bad_input("audience.groups", format!("no group {code:?}")))
    };
    codes.iter().map(find).collect()
}

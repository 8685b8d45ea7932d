//! Routing data of a notification: all that publishing needs, without the content.

use std::sync::Arc;

use entity::ids::{ActionId, UserId};
use entity::prelude::*;
use entity::recipient::{Column, Entity as Recipient};

use super::{DirectAudience, NotificationKind, NotificationRow};
use crate::catalogue::{Catalogue, MessageType};
use crate::channel::ActionTarget;
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use model::catalogue::unknown_type;

/// Routing data of a notification.
#[derive(Clone, Debug)]
pub(super) struct NotificationRouting {
    pub kind: NotificationKind,
    pub message_type: Arc<MessageType>,
    pub recipients: RecipientIds,
    pub sender: Option<UserId>,
    pub target: Option<ActionTarget>,
    pub action: Option<(String, ActionId)>,
    pub audience: DirectAudience,
    /// As the caller gave it; `None` means the ttl of the type.
    pub expires_at: Option<Millis>,
    /// The version of the catalogue that its type was looked up in.
    pub catalogue_version: i64,
    /// The tenant's number of erased users, read before the named users were looked up.
    pub erased_count: i64,
}

/// The recipients, as ids.
#[derive(Clone, Debug)]
pub(super) enum RecipientIds {
    Everyone,
    /// The members of the audience's groups that exist at publication.
    Groups,
    Users(Vec<UserId>),
    /// Subscribers of the target's channel, and followers of the sender.
    Subscribers,
}

impl NotificationRouting {
    /// When it expires if it is published at `now`.
    pub fn expires_at(&self, now: Millis) -> Option<Millis> {
        expiry_time(self.expires_at, &self.message_type, now)
    }

    /// The users named one by one, including the receiver of a message.
    pub fn named_users(&self) -> &[UserId] {
        if let RecipientIds::Users(users) = &self.recipients { users } else { &[] }
    }

    /// The receiver of a message.
    pub fn receiver(&self) -> Option<UserId> {
        if self.kind == NotificationKind::Message { self.named_users().first().copied() } else { None }
    }

    /// The routing data of a scheduled notification, by the current catalogue.
    pub async fn load_scheduled(
        db: &impl ConnectionTrait,
        tenant: &Tenant,
        catalogue: &Catalogue,
        row: NotificationRow,
    ) -> Result<Self> {
        let (receiver, action) = (row.of.receiver_id, row.of.action_id);
        let of = row.into_notification(catalogue)?;
        let recipients = match of.kind {
            NotificationKind::Message => RecipientIds::Users(receiver.into_iter().collect()),
            NotificationKind::Reminder => RecipientIds::Subscribers,
            NotificationKind::Announcement if of.audience.everyone => RecipientIds::Everyone,
            NotificationKind::Announcement if of.audience.users > 0 => {
                let named = Recipient::of_tenant(tenant.id).filter(Column::NotificationId.eq(of.id));
                RecipientIds::Users(named.select_only().column(Column::UserId).into_tuple().all(db).await?)
            }
            NotificationKind::Announcement => RecipientIds::Groups,
        };
        Ok(Self {
            kind: of.kind,
            message_type: of.message_type,
            recipients,
            sender: of.sender,
            target: of.target,
            action: of.action.zip(action),
            audience: of.audience,
            expires_at: of.expires_at,
            catalogue_version: catalogue.version,
            erased_count: tenant.erased_count(),
        })
    }
}

/// When a notification expires: at the time its sender gave, or by the ttl of its type.
pub(super) fn expiry_time(expires_at: Option<Millis>, kind: &MessageType, published_at: Millis) -> Option<Millis> {
    expires_at.or(kind.ttl_seconds.map(|ttl| published_at.saturating_add(ttl.saturating_mul(1000))))
}

pub(super) fn find_message_type(catalogue: &Catalogue, code: &str) -> Result<Arc<MessageType>> {
    let kind = catalogue.message_type(code).cloned();
    kind.ok_or_else(|| unknown_type("type", code))
}

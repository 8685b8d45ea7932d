//! Notifications as their recipients see them.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::UserId;
use entity::prelude::LIST;

use super::{Notification, load_by_ids};
use crate::catalogue::{self, Catalogue};
use crate::tenant::Tenant;
use crate::user::{self, UserProfile};
use base::error::Result;
use model::item::{ItemContent, RenderedTexts, SenderTexts};
use store::Store;

/// Notifications with the data needed to show them.
#[derive(Debug)]
pub struct DisplayedNotifications {
    notifications: HashMap<i64, Notification>,
    users: HashMap<UserId, UserProfile>,
    catalogue: Arc<Catalogue>,
}

/// The notifications with these numbers. Missing ones are left out. Takes a few statements, however many numbers.
pub async fn load_for_display(store: &Store, tenant: &Tenant, ids: &[i64]) -> Result<DisplayedNotifications> {
    let mut notifications = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(LIST) {
        notifications.extend(load_by_ids(store, tenant, ids).await?.into_iter().map(|of| (of.id, of)));
    }
    let named = notifications.values().flat_map(|of| [of.sender, of.receiver]).flatten();
    let mut named: Vec<UserId> = named.collect();
    named.sort_unstable();
    named.dedup();
    let users = if named.is_empty() { HashMap::new() } else { user::load_profiles(store, tenant, &named).await? };
    let catalogue = catalogue::load_cached(store, tenant).await?;
    Ok(DisplayedNotifications { notifications, users, catalogue })
}

impl DisplayedNotifications {
    /// The notification with this number.
    pub fn get(&self, id: i64) -> Option<&Notification> {
        self.notifications.get(&id)
    }

    /// The backend's id of a sender or receiver.
    pub fn external_id(&self, user: Option<UserId>) -> Option<&str> {
        Some(self.users.get(&user?)?.external_id.as_str())
    }

    /// The content, rendered with the template of its type.
    pub fn render_content(&self, of: &Notification) -> ItemContent {
        let sender = of.sender.and_then(|sender| self.users.get(&sender).cloned());
        render_content(of, sender, self.catalogue.clone())
    }
}

/// The content of a notification with its sender, rendered with the template of its type.
pub fn render_content(of: &Notification, sender: Option<UserProfile>, catalogue: Arc<Catalogue>) -> ItemContent {
    ItemContent {
        notification: of.id,
        kind: of.kind,
        message_type: of.message_type.clone(),
        published_at: of.published_at.unwrap_or(of.created_at),
        updated_at: of.updated_at,
        data: of.content.data.clone(),
        sender,
        target: of.target.clone(),
        action: of.action.clone(),
        own: SenderTexts {
            title: of.content.title.clone(),
            body: of.content.body.clone(),
            link: of.content.link.clone(),
            params: of.content.params.clone().unwrap_or_default(),
        },
        catalogue,
        reader: None,
        rendered: RenderedTexts::default(),
    }
}

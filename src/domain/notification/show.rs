//! Notifications as their recipients see them.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::UserId;
use entity::prelude::LIST;

use super::{Notification, load};
use crate::app::App;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::Tenant;
use crate::domain::user::{self, Profile};
use crate::error::Result;
use crate::model::item::{Content, OwnText, Rendered};

/// Notifications with the data needed to show them.
#[derive(Debug)]
pub struct Shown {
    notifications: HashMap<i64, Notification>,
    users: HashMap<UserId, Profile>,
    catalogue: Arc<Catalogue>,
}

/// The notifications with these numbers. Missing ones are left out. Takes a few statements, however many numbers.
pub async fn shown(app: &App, tenant: &Tenant, ids: &[i64]) -> Result<Shown> {
    let mut notifications = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(LIST) {
        notifications.extend(load(app, tenant, ids).await?.into_iter().map(|of| (of.id, of)));
    }
    let named = notifications.values().flat_map(|of| [of.sender, of.receiver]).flatten();
    let mut named: Vec<UserId> = named.collect();
    named.sort_unstable();
    named.dedup();
    let users = if named.is_empty() { HashMap::new() } else { user::profiles(app, tenant, &named).await? };
    let catalogue = catalogue::cached(app, tenant).await?;
    Ok(Shown { notifications, users, catalogue })
}

impl Shown {
    /// The notification with this number.
    pub fn of(&self, id: i64) -> Option<&Notification> {
        self.notifications.get(&id)
    }

    /// The backend's id of a sender or receiver.
    pub fn external_id(&self, user: Option<UserId>) -> Option<&str> {
        Some(self.users.get(&user?)?.external_id.as_str())
    }

    /// The content, rendered with the template of its type.
    pub fn content(&self, of: &Notification) -> Content {
        let sender = of.sender.and_then(|sender| self.users.get(&sender).cloned());
        content(of, sender, self.catalogue.clone())
    }
}

/// The content of a notification with its sender, rendered with the template of its type.
pub fn content(of: &Notification, sender: Option<Profile>, catalogue: Arc<Catalogue>) -> Content {
    Content {
        notification: of.id,
        kind: of.kind,
        message_type: of.message_type.clone(),
        published_at: of.published_at.unwrap_or(of.created_at),
        updated_at: of.updated_at,
        data: of.content.data.clone(),
        sender,
        target: of.target.clone(),
        action: of.action.clone(),
        own: OwnText {
            title: of.content.title.clone(),
            body: of.content.body.clone(),
            link: of.content.link.clone(),
            params: of.content.params.clone().unwrap_or_default(),
        },
        catalogue,
        rendered: Rendered::default(),
    }
}

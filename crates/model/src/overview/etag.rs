//! A tag that clients use to ask whether an overview has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{TypeOverview, UserOverview};
use crate::catalogue::MessageType;
use crate::item::{ItemContent, UserItem};
use crate::user::UserProfile;
use crate::view::UserView;

/// Which fields the caller can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleFields {
    /// All except the delivery rules of message types.
    OfUsers,
    All,
}

impl UserOverview {
    /// A hash of all visible fields except the cursor, the same on all nodes. A change that is undone restores the old
    /// tag.
    pub fn content_tag(&self, fields: VisibleFields) -> u64 {
        // The user is visible only in ids, and the cap only in counts.
        let Self { user: _, unread, unseen, views, cap: _, types, cursor: _, catalogue_version: _, proof: _ } = self;
        let mut hasher = DefaultHasher::new();
        (unread, unseen, self.total_unread(), types.len(), views.views.len()).hash(&mut hasher);
        for TypeOverview { message_type, unread, latest } in types {
            hash_type(message_type, fields, &mut hasher);
            (unread, latest.is_some()).hash(&mut hasher);
            if let Some(latest) = latest {
                hash_item(latest, &mut hasher);
            }
        }
        for UserView { row, key, user, unread, last_activity_at, last_visited_at, latest } in &views.views {
            (row, key, user, unread, last_activity_at, last_visited_at, latest).hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn hash_type(of: &MessageType, fields: VisibleFields, hasher: &mut DefaultHasher) {
    let MessageType {
        id,
        code,
        title,
        group,
        read_policy,
        mandatory,
        ttl_seconds,
        position,
        template,
        icon,
        ui,
        delivery,
        users_may_send,
    } = of;
    (id, code, title, group, read_policy, mandatory, ttl_seconds, position, icon, ui, users_may_send).hash(hasher);
    let template = template.as_ref().map(|of| (&of.title, &of.body, &of.link));
    template.hash(hasher);
    if fields == VisibleFields::All {
        // Changes seldom and is short.
        format!("{delivery:?}").hash(hasher);
    }
}

fn hash_item(item: &UserItem, hasher: &mut DefaultHasher) {
    // The state itself is not hashed: it also says whether an unread item was read before, which is not visible.
    let UserItem { user, seq, state, read_at, archived_at, expires_at, content } = item;
    (user, seq, item.is_read(), state.is_archived(), read_at, archived_at, expires_at).hash(hasher);
    let ItemContent { notification, kind, published_at, updated_at, data, target, action, .. } = &**content;
    (notification, kind, published_at, updated_at, data, target, action).hash(hasher);
    (content.title(), content.body(), content.link(), &content.message_type.code).hash(hasher);
    let sender = content.sender.as_ref();
    let shown = |of: &UserProfile| (of.external_id.clone(), of.name.clone(), of.avatar_url.clone(), of.locale.clone());
    sender.map(shown).hash(hasher);
}

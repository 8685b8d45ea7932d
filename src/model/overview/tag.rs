//! What an overview is told from others by, for clients that keep it.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Overview, TypeOverview};
use crate::model::catalogue::MessageType;
use crate::model::item::{Content, Item};
use crate::model::user::Profile;
use crate::model::view::View;

/// Which fields a reader is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// All but how message types leave the inbox.
    OfUsers,
    All,
}

impl Overview {
    /// Equal on all nodes exactly for overviews whose fields are equal, except for the cursor. Only what is shown goes into it, so a change
    /// that is undone restores it.
    pub fn tag(&self, fields: Fields) -> u64 {
        // The user shows only in ids, and the cap only in counts.
        let Self { user: _, unread, unseen, views, cap: _, types, cursor: _, catalogue_version: _, proof: _ } = self;
        let mut hasher = DefaultHasher::new();
        (unread, unseen, self.total(), types.len(), views.views.len()).hash(&mut hasher);
        for TypeOverview { message_type, unread, latest } in types {
            hash_type(message_type, fields, &mut hasher);
            (unread, latest.is_some()).hash(&mut hasher);
            if let Some(latest) = latest {
                hash_item(latest, &mut hasher);
            }
        }
        for View { row, key, user, unread, last_activity_at, last_visited_at, latest } in &views.views {
            (row, key, user, unread, last_activity_at, last_visited_at, latest).hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn hash_type(of: &MessageType, fields: Fields, hasher: &mut DefaultHasher) {
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
    if fields == Fields::All {
        // Changes seldom, and is short.
        format!("{delivery:?}").hash(hasher);
    }
}

fn hash_item(item: &Item, hasher: &mut DefaultHasher) {
    // A state says more than is shown: whether what is unread was read before.
    let Item { user, seq, state, read_at, archived_at, expires_at, content } = item;
    (user, seq, item.is_read(), state.is_archived(), read_at, archived_at, expires_at).hash(hasher);
    let Content { notification, kind, published_at, updated_at, data, target, action, .. } = &**content;
    (notification, kind, published_at, updated_at, data, target, action).hash(hasher);
    (content.title(), content.body(), content.link(), &content.message_type.code).hash(hasher);
    let sender = content.sender.as_ref();
    let shown = |of: &Profile| (of.external_id.clone(), of.name.clone(), of.avatar_url.clone(), of.locale.clone());
    sender.map(shown).hash(hasher);
}

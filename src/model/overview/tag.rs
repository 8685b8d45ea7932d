//! What an overview is told from others by, by clients that keep it.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Overview, TypeOverview};
use crate::model::item::{Content, Item};
use crate::model::user::Profile;
use crate::model::view::View;

impl Overview {
    /// The same on all nodes exactly for overviews of which every field shows the same, but for the cursor.
    pub fn tag(&self) -> u64 {
        let Self { user, unread, unseen, views, cap, types, cursor: _, catalogue_version: _, proof: _ } = self;
        let mut hasher = DefaultHasher::new();
        (user, unread, unseen, cap, self.total(), types.len(), views.views.len()).hash(&mut hasher);
        for TypeOverview { message_type, unread, latest } in types {
            // All of it may be shown. What it is beside its code changes seldom, and is short.
            (format!("{message_type:?}"), unread, latest.is_some()).hash(&mut hasher);
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

fn hash_item(item: &Item, hasher: &mut DefaultHasher) {
    let Item { user: _, seq, state, read_at, archived_at, expires_at, content } = item;
    (seq, state, item.is_read(), read_at, archived_at, expires_at).hash(hasher);
    let Content { notification, kind, published_at, updated_at, data, target, action, .. } = &**content;
    (notification, kind, published_at, updated_at, data, target, action).hash(hasher);
    (content.title(), content.body(), content.link(), &content.message_type.code).hash(hasher);
    let sender = content.sender.as_ref();
    let shown = |of: &Profile| (of.external_id.clone(), of.name.clone(), of.avatar_url.clone(), of.locale.clone());
    sender.map(shown).hash(hasher);
}

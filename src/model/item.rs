//! Items of inboxes, with all that is shown of them.

use std::sync::{Arc, OnceLock};

use entity::ids::{Seq, UserId};
use entity::inbox_item::State;
use entity::notification::Kind;
use serde_json::Value;

use super::catalogue::{Catalogue, MessageType};
use super::channel::Target;
use super::template::{Scene, ShownScene, Source, TargetScene, Text};
use super::user::Profile;
use crate::clock::Millis;
use crate::text::{closed, shown_line};

/// A user's item: their state of it, and what all who have it share.
#[derive(Clone, Debug)]
pub struct Item {
    pub user: UserId,
    pub seq: Seq,
    pub state: State,
    /// When it was marked by itself, or the earliest mark over it was made.
    pub read_at: Option<Millis>,
    pub archived_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub content: Arc<Content>,
}

/// What a notification shows in an inbox, the same for everybody.
#[derive(Clone, Debug)]
pub struct Content {
    /// The notification's number.
    pub notification: i64,
    pub kind: Kind,
    pub message_type: Arc<MessageType>,
    pub published_at: Millis,
    /// When its text was last amended.
    pub updated_at: Option<Millis>,
    pub data: Option<Value>,
    pub sender: Option<Profile>,
    pub target: Option<Target>,
    pub action: Option<String>,
    /// What its sender wrote.
    pub own: OwnText,
    /// That it is shown by.
    pub catalogue: Arc<Catalogue>,
    pub rendered: Rendered,
}

/// What templates have made of it, once somebody has asked.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    title: OnceLock<Option<String>>,
    body: OnceLock<Option<String>>,
    link: OnceLock<Option<String>>,
}

/// What the sender wrote, for types without a template.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnText {
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    pub params: Value,
}

impl Item {
    /// About how many bytes it takes beside itself.
    pub fn weight(&self) -> usize {
        self.content.weight()
    }

    /// Whether another user's item shows the same, whose content is the very same.
    pub fn shows_same(&self, other: &Self) -> bool {
        let own = |of: &Self| (of.seq, of.state, of.read_at, of.archived_at, of.expires_at);
        Arc::ptr_eq(&self.content, &other.content) && own(self) == own(other)
    }

    /// Whether the user has read it.
    pub fn is_read(&self) -> bool {
        match self.state {
            State::Fresh => self.read_at.is_some(),
            State::Read | State::ArchivedRead => true,
            State::KeptUnread | State::ArchivedUnread => false,
        }
    }
}

impl Content {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        size_of_val(self) + self.length() + self.sender.as_ref().map_or(0, |sender| 3 * sender.external_id.len())
    }

    /// About how many bytes its text takes.
    pub fn length(&self) -> usize {
        let OwnText { title, body, link, params } = &self.own;
        let texts = [title, body, link].into_iter().flatten().map(String::len).sum::<usize>();
        let values = [Some(params), self.data.as_ref()].into_iter().flatten().filter(|value| !value.is_null());
        texts + values.map(|value| 3 * value.to_string().len()).sum::<usize>()
    }

    /// Whether it shows the same, by the same catalogue.
    pub fn is_same(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.notification, of.kind, of.published_at, of.updated_at);
        let same_facts = facts(self) == facts(other) && self.own == other.own && self.data == other.data;
        let same_people = (&self.sender, &self.target, &self.action) == (&other.sender, &other.target, &other.action);
        Arc::ptr_eq(&self.catalogue, &other.catalogue) && same_facts && same_people
    }

    /// Of the catalogue that it is shown by.
    pub fn catalogue_version(&self) -> i64 {
        self.catalogue.version
    }

    /// Rendered by the type's template; else as the sender wrote it; else the type's own title.
    pub fn title(&self) -> String {
        let own = || self.own.title.as_deref().and_then(shown_line);
        self.render(Text::Title).or_else(own).unwrap_or_else(|| closed(&self.message_type.title).into_owned())
    }

    /// Rendered by the type's template, else as the sender wrote it.
    pub fn body(&self) -> Option<String> {
        self.render(Text::Body).or_else(|| Some(closed(self.own.body.as_deref()?).into_owned()))
    }

    /// Rendered by the type's template, else as the sender gave it.
    pub fn link(&self) -> Option<String> {
        self.render(Text::Link).or_else(|| self.own.link.clone())
    }

    /// What letters say instead of what the item does; nothing where the type has no template for it, or it fails.
    pub fn in_letters(&self, text: Text) -> Option<String> {
        self.rendered_now(self.message_type.letter()?.source(text)?)
    }

    fn render(&self, text: Text) -> Option<String> {
        let source = self.message_type.template.as_ref()?.source(text)?;
        let rendered = match text {
            Text::Title => &self.rendered.title,
            Text::Body => &self.rendered.body,
            _ => &self.rendered.link,
        };
        rendered.get_or_init(|| self.rendered_now(source)).clone()
    }

    fn rendered_now(&self, source: Source<'_>) -> Option<String> {
        self.catalogue.templates.render(&self.message_type.code, source, &self.scene(None))
    }

    /// What templates speak of that are written beside its own: the same, and what it shows.
    pub fn scene_with_texts(&self) -> Scene<'_> {
        self.scene(Some(ShownScene { title: self.title(), body: self.body() }))
    }

    fn scene(&self, shown: Option<ShownScene>) -> Scene<'_> {
        let sender = self.sender.as_ref().map(|sender| {
            serde_json::json!({ "id": sender.external_id, "name": sender.name,
                                "avatarUrl": sender.avatar_url, "locale": sender.locale })
        });
        Scene {
            params: &self.own.params,
            data: self.data.as_ref().unwrap_or(&Value::Null),
            sender: sender.unwrap_or_default(),
            target: self.target.as_ref().map(|target| TargetScene { r#type: &target.target_type, id: &target.id }),
            action: self.action.as_deref(),
            shown,
        }
    }
}

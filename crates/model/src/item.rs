//! Inbox items with their content.

use std::sync::{Arc, OnceLock};

use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;
use entity::notification::NotificationKind;
use serde_json::Value;

use super::catalogue::{Catalogue, MessageType};
use super::channel::ActionTarget;
use super::reader::{ReaderDependence, ReaderLocale};
use super::template::{ItemTemplate, ShownVariables, TargetVariables, TemplateSource, TemplateVariables, TextKind};
use super::user::UserProfile;
use base::clock::Millis;
use base::text::{close_directions, display_line};

/// A user's item: the user's own state, and the content shared by all users who have it.
#[derive(Clone, Debug)]
pub struct UserItem {
    pub user: UserId,
    pub seq: Seq,
    pub state: ItemState,
    /// When it was marked individually, or the time of the earliest mark that covers it.
    pub read_at: Option<Millis>,
    pub archived_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub content: Arc<ItemContent>,
}

/// The content of a notification in an inbox, the same for all users with the same locale and time zone, or for all if
/// no template of its type depends on them.
#[derive(Clone, Debug)]
pub struct ItemContent {
    /// The notification's id.
    pub notification: i64,
    pub kind: NotificationKind,
    pub message_type: Arc<MessageType>,
    pub published_at: Millis,
    /// When its text was last amended.
    pub updated_at: Option<Millis>,
    pub data: Option<Value>,
    pub sender: Option<UserProfile>,
    pub target: Option<ActionTarget>,
    pub action: Option<String>,
    /// The sender's own texts.
    pub own: SenderTexts,
    /// The catalogue it is rendered with.
    pub catalogue: Arc<Catalogue>,
    /// The reader that it is rendered for. `None`: English and UTC.
    pub reader: Option<Arc<ReaderLocale>>,
    pub rendered: RenderedTexts,
}

/// Rendered texts, filled in on first use.
#[derive(Clone, Debug, Default)]
pub struct RenderedTexts {
    title: OnceLock<Option<String>>,
    body: OnceLock<Option<String>>,
    link: OnceLock<Option<String>>,
    dependence: OnceLock<ReaderDependence>,
}

/// The texts that the sender wrote, used by types without a template.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderTexts {
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    pub params: Value,
}

impl UserItem {
    /// Approximate bytes besides the struct itself.
    pub fn weight(&self) -> usize {
        self.content.weight()
    }

    /// Whether another user's item looks the same. The contents must be the same object.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let own = |of: &Self| (of.seq, of.state, of.read_at, of.archived_at, of.expires_at);
        Arc::ptr_eq(&self.content, &other.content) && own(self) == own(other)
    }

    /// Whether the user has read it.
    pub fn is_read(&self) -> bool {
        match self.state {
            ItemState::Fresh => self.read_at.is_some(),
            ItemState::Read | ItemState::ArchivedRead => true,
            ItemState::KeptUnread | ItemState::ArchivedUnread => false,
        }
    }
}

impl ItemContent {
    /// Approximate bytes in memory.
    pub fn weight(&self) -> usize {
        size_of_val(self) + self.text_length() + self.sender.as_ref().map_or(0, |sender| 3 * sender.external_id.len())
    }

    /// Approximate bytes of its texts.
    pub fn text_length(&self) -> usize {
        let SenderTexts { title, body, link, params } = &self.own;
        let texts = [title, body, link].into_iter().flatten().map(String::len).sum::<usize>();
        let values = [Some(params), self.data.as_ref()].into_iter().flatten().filter(|value| !value.is_null());
        texts + values.map(|value| 3 * value.to_string().len()).sum::<usize>()
    }

    /// Whether two contents are equal and use the same catalogue object.
    pub fn is_same(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.notification, of.kind, of.published_at, of.updated_at);
        let same_facts = facts(self) == facts(other) && self.own == other.own && self.data == other.data;
        let same_people = (&self.sender, &self.target, &self.action) == (&other.sender, &other.target, &other.action);
        let same_reader = self.reader == other.reader;
        Arc::ptr_eq(&self.catalogue, &other.catalogue) && same_facts && same_people && same_reader
    }

    /// What its texts depend on.
    pub fn dependence(&self) -> ReaderDependence {
        *self.rendered.dependence.get_or_init(|| {
            let sources = self.message_type.template.iter().flat_map(ItemTemplate::sources);
            let of = |source| self.catalogue.templates.dependence(&self.message_type.code, source);
            sources.map(of).fold(ReaderDependence::default(), ReaderDependence::and)
        })
    }

    /// The same content, rendered for this reader.
    #[must_use]
    pub fn for_reader(&self, reader: Arc<ReaderLocale>) -> Self {
        Self { reader: Some(reader), rendered: RenderedTexts::default(), ..self.clone() }
    }

    /// Version of the catalogue it is rendered with.
    pub fn catalogue_version(&self) -> i64 {
        self.catalogue.version
    }

    /// Rendered by the type's template, else the sender's title, else the type's title.
    pub fn title(&self) -> String {
        let own = || self.own.title.as_deref().and_then(display_line);
        self.render_cached(TextKind::Title)
            .or_else(own)
            .unwrap_or_else(|| close_directions(&self.message_type.title).into_owned())
    }

    /// Rendered by the type's template, else the sender's body.
    pub fn body(&self) -> Option<String> {
        self.render_cached(TextKind::Body).or_else(|| Some(close_directions(self.own.body.as_deref()?).into_owned()))
    }

    /// Rendered by the type's template, else the sender's link.
    pub fn link(&self) -> Option<String> {
        self.render_cached(TextKind::Link).or_else(|| self.own.link.clone())
    }

    /// The text for emails; `None` if the type has no template for it or rendering fails.
    pub fn email_text(&self, text: TextKind) -> Option<String> {
        self.render_uncached(self.message_type.email_template()?.source(text)?)
    }

    fn render_cached(&self, text: TextKind) -> Option<String> {
        let source = self.message_type.template.as_ref()?.source(text)?;
        let rendered = match text {
            TextKind::Title => &self.rendered.title,
            TextKind::Body => &self.rendered.body,
            _ => &self.rendered.link,
        };
        rendered.get_or_init(|| self.render_uncached(source)).clone()
    }

    fn render_uncached(&self, source: TemplateSource<'_>) -> Option<String> {
        self.catalogue.templates.render(&self.message_type.code, source, &self.variables(None))
    }

    /// The variables for templates of other channels: those of the item's own templates, and the item's title and body.
    pub fn variables_with_texts(&self) -> TemplateVariables<'_> {
        self.variables(Some(ShownVariables { title: self.title(), body: self.body() }))
    }

    fn variables(&self, shown: Option<ShownVariables>) -> TemplateVariables<'_> {
        let sender = self.sender.as_ref().map(|sender| {
            serde_json::json!({ "id": sender.external_id, "name": sender.name,
                                "avatarUrl": sender.avatar_url, "locale": sender.locale })
        });
        TemplateVariables {
            params: &self.own.params,
            data: self.data.as_ref().unwrap_or(&Value::Null),
            sender: sender.unwrap_or_default(),
            target: self.target.as_ref().map(|target| TargetVariables { r#type: &target.target_type, id: &target.id }),
            action: self.action.as_deref(),
            shown,
            reader: self.reader.as_deref().unwrap_or(ReaderLocale::UNKNOWN),
        }
    }
}

//! An inbox item with all that is shown of it, read in one row.

mod statement;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use entity::ids::{Seq, UserId};
use entity::prelude::FromQueryResult;
use sea_orm::QueryResult;
use serde_json::Value;

use super::shelf::State;
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue::{self, Catalogue, MessageType, Scene, TargetScene, Text};
use crate::domain::channel::Target;
use crate::domain::notification::Kind;
use crate::domain::tenant::Tenant;
use crate::domain::user::Profile;
use crate::error::{Error, Result};

pub use statement::{CONTENT_COLUMNS, Own, Row, STATE_COLUMNS, Shown, push_columns, push_content_joins, push_joins};

/// A user's item: his state of it, and what all who have it share.
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
    own: OwnText,
    catalogue: Arc<Catalogue>,
    rendered: Rendered,
}

/// What templates have made of it, once somebody has asked.
#[derive(Clone, Debug, Default)]
struct Rendered {
    title: OnceLock<Option<String>>,
    body: OnceLock<Option<String>>,
    link: OnceLock<Option<String>>,
}

/// What rows of one statement have shown, by seq.
#[derive(Debug, Default)]
pub struct Contents(HashMap<Seq, Arc<Content>>);

/// What the sender wrote, for types without a template.
#[derive(Clone, Debug, PartialEq)]
struct OwnText {
    title: Option<String>,
    body: Option<String>,
    link: Option<String>,
    params: Value,
}

/// A user's item by its seq, if it has neither expired nor been retracted; his inbox need not be synced, for whoever
/// knows an id has seen it, and the notification itself says what became of it.
pub async fn find(app: &App, tenant: &Tenant, user: UserId, seq: Seq) -> Result<Option<Item>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let row = statement::one(app, tenant, user, seq).row::<Option<Row>>(&app.db.read).await?;
    row.flatten().map(|row| Item::of(row, &catalogue)).transpose()
}

impl Contents {
    /// The item of a row that has one with a notification; those with the same notification share its content.
    pub fn item(&mut self, row: &QueryResult, catalogue: &Arc<Catalogue>) -> Result<Item> {
        let own = Own::from_query_result(row, "")?;
        let content = match self.0.entry(own.seq) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => {
                let shown = Shown::from_query_result(row, "")?;
                unknown.insert(Arc::new(Content::of(shown, catalogue)?)).clone()
            }
        };
        Ok(Item::over(own, content))
    }
}

impl Item {
    /// About how many bytes it takes beside itself.
    pub fn weight(&self) -> usize {
        self.content.weight()
    }

    /// The item of a row, by the catalogue of its statement.
    pub fn of(row: Row, catalogue: &Arc<Catalogue>) -> Result<Self> {
        Ok(Self::over(row.own, Arc::new(Content::of(row.shown, catalogue)?)))
    }

    /// The item of a row, whose content is known.
    pub fn over(own: Own, content: Arc<Content>) -> Self {
        Self {
            user: own.user,
            seq: own.seq,
            state: own.state,
            read_at: match own.state {
                State::Fresh => own.mark_read_at,
                State::Read | State::ArchivedRead => own.read_at.or(own.mark_read_at),
                State::KeptUnread | State::ArchivedUnread => None,
            },
            archived_at: own.archived_at,
            expires_at: own.expires_at,
            content,
        }
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
    /// What is shown of the notification of a row, by the catalogue of its statement.
    pub fn of(row: Shown, catalogue: &Arc<Catalogue>) -> Result<Self> {
        let missing = || Error::internal(format!("message type {} is not in the catalogue", row.item_content_type_id));
        Ok(Self {
            notification: row.item_notification,
            kind: row.item_kind,
            message_type: catalogue.type_by_id(row.item_content_type_id).cloned().ok_or_else(missing)?,
            published_at: row.item_published_at,
            updated_at: row.item_updated_at,
            data: json(row.item_data)?,
            sender: row.s_id.zip(row.s_external_id).map(|(id, external_id)| Profile {
                id,
                external_id,
                name: row.s_name,
                avatar_url: row.s_avatar_url,
                locale: row.s_locale,
            }),
            target: row.item_target_type.zip(row.item_target_id).map(|(target_type, id)| Target { target_type, id }),
            action: row.item_action,
            own: OwnText {
                title: row.item_title,
                body: row.item_body,
                link: row.item_link,
                params: json(row.item_params)?.unwrap_or_default(),
            },
            catalogue: catalogue.clone(),
            rendered: Rendered::default(),
        })
    }

    /// About how many bytes it takes.
    fn weight(&self) -> usize {
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
        self.render(Text::Title).or_else(|| self.own.title.clone()).unwrap_or_else(|| self.message_type.title.clone())
    }

    /// Rendered by the type's template, else as the sender wrote it.
    pub fn body(&self) -> Option<String> {
        self.render(Text::Body).or_else(|| self.own.body.clone())
    }

    /// Rendered by the type's template, else as the sender gave it.
    pub fn link(&self) -> Option<String> {
        self.render(Text::Link).or_else(|| self.own.link.clone())
    }

    fn render(&self, text: Text) -> Option<String> {
        self.message_type.template.as_ref()?;
        let rendered = match text {
            Text::Title => &self.rendered.title,
            Text::Body => &self.rendered.body,
            Text::Link => &self.rendered.link,
        };
        rendered.get_or_init(|| self.rendered_now(text)).clone()
    }

    fn rendered_now(&self, text: Text) -> Option<String> {
        let sender = self.sender.as_ref().map(|sender| {
            serde_json::json!({ "id": sender.external_id, "name": sender.name,
                                "avatarUrl": sender.avatar_url, "locale": sender.locale })
        });
        let scene = Scene {
            params: &self.own.params,
            data: self.data.as_ref().unwrap_or(&Value::Null),
            sender: sender.unwrap_or_default(),
            target: self.target.as_ref().map(|target| TargetScene { r#type: &target.target_type, id: &target.id }),
            action: self.action.as_deref(),
        };
        self.catalogue.templates.render(&self.message_type.code, text, &scene)
    }
}

fn json(text: Option<String>) -> Result<Option<Value>> {
    text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
}

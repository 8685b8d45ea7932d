//! An inbox item with all that is shown of it, read in one row.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use entity::ids::{Seq, TypeId, UserId};
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
use crate::sql::Sql;

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

/// What rows of one tenant have shown, by seq.
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

/// The columns of the item `i` itself.
pub const STATE_COLUMNS: &str = "i.user_id AS item_user_id, i.seq AS item_seq, i.type_id AS item_type_id, \
    i.state AS item_state, i.read_at AS item_read_at, i.archived_at AS item_archived_at, \
    i.expires_at AS item_expires_at, (SELECT m.read_at FROM read_mark m WHERE m.user_id = i.user_id AND \
    m.type_id = i.type_id AND m.read_upto >= i.seq ORDER BY m.read_upto LIMIT 1) AS item_mark_read_at";

/// The columns of what is shown of the notification `n` and its action `a`.
pub const CONTENT_COLUMNS: &str = "n.id AS item_notification, n.kind AS item_kind, n.type_id AS item_content_type_id, \
    n.title AS item_title, n.body AS item_body, n.link AS item_link, n.params AS item_params, n.data AS item_data, \
    n.published_at AS item_published_at, n.updated_at AS item_updated_at, n.target_type AS item_target_type, n.target_id AS item_target_id, \
    a.code AS item_action";

/// Adds the columns that [`Item::read`] wants; see [`push_joins`] for the tables.
pub fn push_columns(sql: &mut Sql) {
    sql.push(STATE_COLUMNS).push(", ").push(CONTENT_COLUMNS).push(", ").push(&Profile::columns("s"));
}

/// Adds the sender `s` and the action `a` to the notification `n`: two probes of primary keys.
pub fn push_content_joins(sql: &mut Sql) {
    sql.push(" LEFT JOIN users s ON s.id = n.sender_id LEFT JOIN action a ON a.id = n.action_id");
}

/// Adds the notification `n`, its sender `s` and its action `a` to the item `i`: three probes of unique keys.
pub fn push_joins(sql: &mut Sql, tenant: &Tenant) {
    sql.push(" LEFT JOIN notification n ON n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.seq = i.seq");
    push_content_joins(sql);
}

/// A user's item by its seq, if it has neither expired nor been retracted; his inbox need not be synced, for whoever
/// knows an id has seen it, and the notification itself says what became of it.
pub async fn find(app: &App, tenant: &Tenant, user: UserId, seq: Seq) -> Result<Option<Item>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ");
    push_columns(&mut sql);
    sql.push(" FROM users u JOIN inbox_item i ON i.user_id = u.id");
    push_joins(&mut sql, tenant);
    sql.push(" WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id = ").bind(user).push(" AND i.seq = ").bind(seq);
    sql.push(" AND n.retracted_at IS NULL AND (n.expires_at IS NULL OR n.expires_at > ").bind(app.now()).push(")");
    match sql.one(&app.db.read).await? {
        Some(row) => Item::read(&row, &catalogue),
        None => Ok(None),
    }
}

impl Item {
    /// About how many bytes it takes beside itself.
    pub fn weight(&self) -> usize {
        self.content.weight()
    }

    /// The item of a row, with its content, if there is one in it. An item whose notification is past the retention window
    /// is as good as gone.
    pub fn read(row: &QueryResult, catalogue: &Arc<Catalogue>) -> Result<Option<Self>> {
        Self::read_among(row, catalogue, &mut Contents::default())
    }

    /// The same among the rows of one catalogue, of whom those with the same notification share its content.
    pub fn read_among(row: &QueryResult, catalogue: &Arc<Catalogue>, contents: &mut Contents) -> Result<Option<Self>> {
        if row.try_get::<Option<i64>>("", "item_notification")?.is_none() {
            return Ok(None);
        }
        let seq = row.try_get("", "item_seq")?;
        let content = match contents.0.entry(seq) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => unknown.insert(Arc::new(Content::read(row, catalogue)?)).clone(),
        };
        Self::over(row, content).map(Some)
    }

    /// The item of a row, whose content is known.
    pub fn over(row: &QueryResult, content: Arc<Content>) -> Result<Self> {
        let state: State = row.try_get("", "item_state")?;
        let mark: Option<Millis> = row.try_get("", "item_mark_read_at")?;
        let own: Option<Millis> = row.try_get("", "item_read_at")?;
        Ok(Self {
            user: row.try_get("", "item_user_id")?,
            seq: row.try_get("", "item_seq")?,
            state,
            read_at: match state {
                State::Fresh => mark,
                State::Read | State::ArchivedRead => own.or(mark),
                State::KeptUnread | State::ArchivedUnread => None,
            },
            archived_at: row.try_get("", "item_archived_at")?,
            expires_at: row.try_get("", "item_expires_at")?,
            content,
        })
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
    /// What is shown of the notification of a row.
    pub fn read(row: &QueryResult, catalogue: &Arc<Catalogue>) -> Result<Self> {
        let type_id: TypeId = row.try_get("", "item_content_type_id")?;
        let target_id: Option<String> = row.try_get("", "item_target_id")?;
        let target_type: Option<String> = row.try_get("", "item_target_type")?;
        Ok(Self {
            notification: row.try_get("", "item_notification")?,
            kind: row.try_get("", "item_kind")?,
            message_type: catalogue
                .type_by_id(type_id)
                .cloned()
                .ok_or_else(|| Error::internal(format!("message type {type_id} is not in the catalogue")))?,
            published_at: row.try_get("", "item_published_at")?,
            updated_at: row.try_get("", "item_updated_at")?,
            data: json(row.try_get("", "item_data")?)?,
            sender: Profile::read(row, "s")?,
            target: target_type.zip(target_id).map(|(target_type, id)| Target { target_type, id }),
            action: row.try_get("", "item_action")?,
            own: OwnText {
                title: row.try_get("", "item_title")?,
                body: row.try_get("", "item_body")?,
                link: row.try_get("", "item_link")?,
                params: json(row.try_get("", "item_params")?)?.unwrap_or_default(),
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

//! An inbox item with all that is shown of it, read in one row.

mod statement;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::inbox_item::State;
use entity::prelude::{FromQueryResult, LIST};
use sea_orm::QueryResult;
use serde_json::Value;

use crate::app::App;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::channel::Target;
pub use crate::model::item::{Content, Item};
use crate::model::item::{OwnText, Rendered};
use crate::model::user::Profile;

pub use statement::{CONTENT_COLUMNS, Own, Row, STATE_COLUMNS, Shown, push_columns, push_content_joins, push_joins};

/// What rows of one statement have shown, by seq.
#[derive(Debug, Default)]
pub struct Contents(HashMap<Seq, Arc<Content>>);

/// A user's items by their seqs, in that order, but for those that have expired or been retracted; their inbox need not be synced,
/// for whoever knows an id has seen it, and the notification itself says what became of it.
pub async fn find(app: &App, tenant: &Tenant, user: UserId, seqs: &[Seq]) -> Result<Vec<Item>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let mut found = HashMap::with_capacity(seqs.len());
    for seqs in seqs.chunks(LIST) {
        for row in statement::some(app, tenant, user, seqs).rows::<Row>(&app.db.read).await? {
            let item = of(row, &catalogue)?;
            found.insert(item.seq, item);
        }
    }
    Ok(seqs.iter().filter_map(|seq| found.remove(seq)).collect())
}

impl Contents {
    /// The item of a row that has one with a notification; those with the same notification share its content.
    pub fn item(&mut self, row: &QueryResult, catalogue: &Arc<Catalogue>) -> Result<Item> {
        let own = Own::from_query_result(row, "")?;
        let content = match self.0.entry(own.seq) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => {
                let shown = Shown::from_query_result(row, "")?;
                unknown.insert(Arc::new(content(shown, catalogue)?)).clone()
            }
        };
        Ok(over(&own, content))
    }
}

/// The item of a row, by the catalogue of its statement.
pub fn of(row: Row, catalogue: &Arc<Catalogue>) -> Result<Item> {
    Ok(over(&row.own, Arc::new(content(row.shown, catalogue)?)))
}

/// The item of a row, whose content is known.
pub fn over(own: &Own, content: Arc<Content>) -> Item {
    Item {
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

/// What is shown of the notification of a row, by the catalogue of its statement.
pub fn content(row: Shown, catalogue: &Arc<Catalogue>) -> Result<Content> {
    let missing = || Error::internal(format!("message type {} is not in the catalogue", row.item_content_type_id));
    Ok(Content {
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

fn json(text: Option<String>) -> Result<Option<Value>> {
    text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
}

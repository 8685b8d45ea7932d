//! An inbox item with all that it displays, read in one row.

mod statement;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::inbox_item::State;
use entity::prelude::{Columns, LIST};
use sea_orm::QueryResult;
use serde_json::Value;

use crate::app::App;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::channel::Target;
use crate::model::contents::{Contents, Edition, Shelf};
pub use crate::model::item::{Content, Item};
use crate::model::item::{OwnText, Rendered};
use crate::model::user::Profile;

use statement::Shown;
pub use statement::{Own, Telling, Whole, push_content_joins, push_joins};

/// Returns the user's items with these seqs, in that order, without expired or retracted ones.
///
/// Needs no sync: a caller who knows an id has seen the item, and the notification itself says what became of it.
pub async fn find(app: &App, tenant: &Tenant, user: UserId, seqs: &[Seq]) -> Result<Vec<Item>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let mut found = HashMap::with_capacity(seqs.len());
    for seqs in seqs.chunks(LIST) {
        for (own, telling) in statement::some(app, tenant, user, seqs).all::<Whole>(&app.db.read).await? {
            let content = Arc::new(content(telling, &catalogue)?);
            found.insert(own.seq, over(&own, content));
        }
    }
    Ok(seqs.iter().filter_map(|seq| found.remove(seq)).collect())
}

/// Reads notification contents from rows with the columns of [`Telling`], through the notification cache.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    contents: &'a Contents,
    on: Shelf<'a>,
}

impl<'a> Reading<'a> {
    /// `catalogue` and `texts` are the catalogue and text version of the statement that returned the rows.
    pub fn by(app: &'a App, tenant: &Tenant, catalogue: &'a Arc<Catalogue>, texts: i64) -> Self {
        Self { contents: &app.caches.contents, on: Shelf { tenant: tenant.id, catalogue, texts } }
    }

    /// The content of the notification at this log position, from the column at index `from` on. `None` if it is gone.
    pub fn content(&self, seq: Seq, row: &QueryResult, from: usize) -> Result<Option<(Edition, Arc<Content>)>> {
        let Some(edition) = Option::<Edition>::read(row, from)? else { return Ok(None) };
        if let Some(known) = self.contents.find(self.on, seq, &edition) {
            return Ok(Some((edition, known)));
        }
        let shown = Shown::read(row, from + Edition::MANY)?;
        let content = Arc::new(content((edition, shown), self.on.catalogue)?);
        self.contents.keep(self.on, seq, edition, &content);
        Ok(Some((edition, content)))
    }
}

/// Combines the user's state with a content that is already known.
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

/// The content of a notification under the catalogue of its statement.
fn content((edition, shown): Telling, catalogue: &Arc<Catalogue>) -> Result<Content> {
    let missing = || Error::internal(format!("message type {} is not in the catalogue", shown.type_id));
    Ok(Content {
        notification: edition.notification,
        kind: shown.kind,
        message_type: catalogue.type_by_id(shown.type_id).cloned().ok_or_else(missing)?,
        published_at: edition.published_at,
        updated_at: edition.updated_at,
        data: json(shown.data)?,
        sender: edition.sender.zip(shown.sender).map(|(id, external_id)| Profile {
            id,
            external_id,
            name: shown.sender_name,
            avatar_url: shown.sender_avatar_url,
            locale: shown.sender_locale,
        }),
        target: shown.target_type.zip(shown.target_id).map(|(target_type, id)| Target { target_type, id }),
        action: shown.action,
        own: OwnText {
            title: shown.title,
            body: shown.body,
            link: shown.link,
            params: json(shown.params)?.unwrap_or_default(),
        },
        catalogue: catalogue.clone(),
        rendered: Rendered::default(),
    })
}

fn json(text: Option<String>) -> Result<Option<Value>> {
    text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
}

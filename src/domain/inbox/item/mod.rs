//! An inbox item with all that is shown of it, read in one row.

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

/// A user's items by their seqs, in that order, but for those that have expired or been retracted; their inbox need not be synced,
/// for whoever knows an id has seen it, and the notification itself says what became of it.
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

/// Reads what notifications show, where it is not known, from rows with the columns of [`Telling`].
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    contents: &'a Contents,
    on: Shelf<'a>,
}

impl<'a> Reading<'a> {
    /// By the catalogue and the texts of the rows' statement.
    pub fn by(app: &'a App, tenant: &Tenant, catalogue: &'a Arc<Catalogue>, texts: i64) -> Self {
        Self { contents: &app.caches.contents, on: Shelf { tenant: tenant.id, catalogue, texts } }
    }

    /// What the notification at a place in the log shows, of which the first column has this place in the row; nothing where it is gone.
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

/// An item, whose content is known.
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

/// What is shown of a notification, by the catalogue of its statement.
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

//! An inbox item with all that it displays, read in one row.

mod queries;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;
use entity::prelude::{FromColumns, LIST};
use sea_orm::QueryResult;
use serde_json::Value;

use crate::catalogue::{self, Catalogue};
use crate::tenant::Tenant;
use crate::user;
use base::error::{Error, Result};
use model::channel::ActionTarget;
pub use model::item::{ItemContent, UserItem};
use model::item::{RenderedTexts, SenderTexts};
use model::notification_cache::{CacheScope, ContentRevision, NotificationCache};
use model::reader::ReaderLocale;
use model::user::UserProfile;
use queries::ContentRow;
pub use queries::{ContentWithRevision, ItemWithContent, UserItemRow, push_content_joins, push_joins};
use store::Store;

/// Returns the user's items with these seqs, in that order, without expired or retracted ones.
///
/// Needs no sync: a caller who knows an id has seen the item, and the notification itself says what became of it.
pub async fn find_items(store: &Store, tenant: &Tenant, user: UserId, seqs: &[Seq]) -> Result<Vec<UserItem>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let mut found = HashMap::with_capacity(seqs.len());
    for seqs in seqs.chunks(LIST) {
        for (own, telling) in
            queries::select_items(store, tenant, user, seqs).fetch_all::<ItemWithContent>(&store.db.read).await?
        {
            let content = Arc::new(build_content(telling, &catalogue)?);
            found.insert(own.seq, build_item(&own, content));
        }
    }
    let mut items: Vec<UserItem> = seqs.iter().filter_map(|seq| found.remove(seq)).collect();
    localize_items(store, tenant, &mut items).await?;
    Ok(items)
}

/// Replaces contents that depend on the reader by those for the users of the items. One statement for all users if there
/// are such contents, none otherwise.
pub async fn localize_items(store: &Store, tenant: &Tenant, items: &mut [UserItem]) -> Result<()> {
    let dependent = |item: &&mut UserItem| item.content.dependence().is_any();
    let mut users: Vec<UserId> = items.iter_mut().filter(dependent).map(|item| item.user).collect();
    if users.is_empty() {
        return Ok(());
    }
    users.sort_unstable();
    users.dedup();
    let readers = user::load_readers(&store.db.read, tenant, &users).await?;
    let mut known: HashMap<(Seq, Arc<ReaderLocale>), Arc<ItemContent>> = HashMap::new();
    for item in items.iter_mut().filter(dependent) {
        let reader = readers.get(&item.user).and_then(|reader| reader.relevant_part(item.content.dependence()));
        let Some(reader) = reader.map(Arc::new) else { continue };
        let content = known.entry((item.seq, reader.clone()));
        item.content = content.or_insert_with(|| Arc::new(item.content.for_reader(reader))).clone();
    }
    Ok(())
}

/// Reads notification contents from rows with the columns of [`ContentWithRevision`], through the notification cache.
#[derive(Clone, Copy, Debug)]
pub struct ContentReader<'a> {
    contents: &'a NotificationCache,
    on: CacheScope<'a>,
}

impl<'a> ContentReader<'a> {
    /// `catalogue` and `texts` are the catalogue and text version of the statement that returned the rows.
    pub fn new(store: &'a Store, tenant: &Tenant, catalogue: &'a Arc<Catalogue>, texts: i64) -> Self {
        Self { contents: &store.caches.contents, on: CacheScope { tenant: tenant.id, catalogue, texts } }
    }

    /// The content of the notification at this log position, from the column at index `from` on, for the reader from
    /// the column at index `reader_from` on. `None` if it is gone.
    pub fn read_content_for(
        &self,
        seq: Seq,
        row: &QueryResult,
        (from, reader_from): (usize, usize),
    ) -> Result<Option<(ContentRevision, Arc<ItemContent>)>> {
        let Some((edition, content)) = self.read_content(seq, row, from)? else { return Ok(None) };
        let dependence = content.dependence();
        if !dependence.is_any() {
            return Ok(Some((edition, content)));
        }
        let reader = ReaderLocale::read_columns(row, reader_from)?.relevant_part(dependence).map(Arc::new);
        let Some(reader) = reader else { return Ok(Some((edition, content))) };
        if let Some(known) = self.contents.find(self.on, (seq, Some(&reader)), &edition) {
            return Ok(Some((edition, known)));
        }
        let content = Arc::new(content.for_reader(reader));
        self.contents.insert(self.on, seq, edition, &content);
        Ok(Some((edition, content)))
    }

    /// The content of the notification at this log position, from the column at index `from` on, without a
    /// reader. `None` if it is gone.
    pub fn read_content(
        &self,
        seq: Seq,
        row: &QueryResult,
        from: usize,
    ) -> Result<Option<(ContentRevision, Arc<ItemContent>)>> {
        let Some(edition) = Option::<ContentRevision>::read_columns(row, from)? else { return Ok(None) };
        if let Some(known) = self.contents.find(self.on, (seq, None), &edition) {
            return Ok(Some((edition, known)));
        }
        let shown = ContentRow::read_columns(row, from + ContentRevision::MANY)?;
        let content = Arc::new(build_content((edition, shown), self.on.catalogue)?);
        self.contents.insert(self.on, seq, edition, &content);
        Ok(Some((edition, content)))
    }
}

/// Combines the user's state with a content that is already known.
pub fn build_item(own: &UserItemRow, content: Arc<ItemContent>) -> UserItem {
    UserItem {
        user: own.user,
        seq: own.seq,
        state: own.state,
        read_at: match own.state {
            ItemState::Fresh => own.mark_read_at,
            ItemState::Read | ItemState::ArchivedRead => own.read_at.or(own.mark_read_at),
            ItemState::KeptUnread | ItemState::ArchivedUnread => None,
        },
        archived_at: own.archived_at,
        expires_at: own.expires_at,
        content,
    }
}

/// The content of a notification under the catalogue of its statement.
fn build_content((edition, shown): ContentWithRevision, catalogue: &Arc<Catalogue>) -> Result<ItemContent> {
    let missing = || Error::internal(format!("message type {} is not in the catalogue", shown.type_id));
    Ok(ItemContent {
        notification: edition.notification,
        kind: shown.kind,
        message_type: catalogue.type_by_id(shown.type_id).cloned().ok_or_else(missing)?,
        published_at: edition.published_at,
        updated_at: edition.updated_at,
        data: parse_json(shown.data)?,
        sender: edition.sender.zip(shown.sender).map(|(id, external_id)| UserProfile {
            id,
            external_id,
            name: shown.sender_name,
            avatar_url: shown.sender_avatar_url,
            locale: shown.sender_locale,
        }),
        target: shown.target_type.zip(shown.target_id).map(|(target_type, id)| ActionTarget { target_type, id }),
        action: shown.action,
        own: SenderTexts {
            title: shown.title,
            body: shown.body,
            link: shown.link,
            params: parse_json(shown.params)?.unwrap_or_default(),
        },
        catalogue: catalogue.clone(),
        reader: None,
        rendered: RenderedTexts::default(),
    })
}

fn parse_json(text: Option<String>) -> Result<Option<Value>> {
    text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
}

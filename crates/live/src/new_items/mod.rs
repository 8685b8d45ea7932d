//! Reads new items of synced inboxes: two statements for any number of users, and a third if contents depend on the
//! readers.

mod queries;

use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{ConnectionTrait, FromColumns, LIST};

use base::error::Result;
use domain::catalogue;
use domain::inbox::item::{self, ContentReader, ItemContent, UserItem, UserItemRow};
use domain::tenant::Tenant;
use model::int_map::IntegerKeyMap;
use queries::ContentVersion;
pub use queries::NewItemsRange;
use store::Store;

/// The items of a span.
#[derive(Debug)]
pub struct NewItems {
    /// Oldest first.
    pub items: Vec<UserItem>,
    /// If the span's limit was reached: the position after which there may be more.
    pub more_after: Option<Seq>,
}

/// The unexpired items of users within a span of the log.
///
/// A range of `inbox_item`'s key per user, then the contents, once for all users who got the same notification.
pub async fn load_new_items(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    span: NewItemsRange<'_>,
) -> Result<NewItems> {
    let rows: Vec<UserItemRow> = queries::select_items(store, users, span).fetch_numbers(&store.db.read).await?;
    let mut seqs: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    // By rows, since items without content count towards the limit too.
    let more_after = seqs.last().copied().filter(|_| span.limit.is_some_and(|limit| rows.len() >= limit));
    seqs.dedup();
    let contents = load_contents(store, tenant, &seqs).await?;
    // Leaves out items without content: it was deleted between the two statements.
    let with_content = |row: UserItemRow| contents.get(&row.seq).map(|content| item::build_item(&row, content.clone()));
    let mut items: Vec<UserItem> = rows.into_iter().filter_map(with_content).collect();
    item::localize_items(store, tenant, &mut items).await?;
    Ok(NewItems { items, more_after })
}

async fn load_contents(store: &Store, tenant: &Tenant, seqs: &[Seq]) -> Result<IntegerKeyMap<Seq, Arc<ItemContent>>> {
    let mut contents = IntegerKeyMap::default();
    for seqs in seqs.chunks(LIST) {
        let rows = store.db.read.query_all_raw(queries::select_contents(store, tenant, seqs).into_statement()).await?;
        let Some(first) = rows.first() else { continue };
        let ContentVersion { catalogue_version, texts, .. } = ContentVersion::read_columns(first, 0)?;
        let catalogue = catalogue::load_version(store, tenant, catalogue_version).await?;
        let reading = ContentReader::new(store, tenant, &catalogue, texts);
        for row in &rows {
            let seq = ContentVersion::read_columns(row, 0)?.seq;
            contents.extend(reading.read_content(seq, row, ContentVersion::MANY)?.map(|(_, content)| (seq, content)));
        }
    }
    Ok(contents)
}

//! Reads the content of digests right before they are sent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use entity::digest::{Column, Entity as Digests};
use entity::ids::{Seq, UserId};
use entity::notification::{Column as Published, Entity as Notifications};
use entity::prelude::*;

use super::queries::{DigestReader, UnreadItem, select_readers, select_unread};
use crate::destination::{Delivery, Destination, PreparedDelivery};
use base::clock::Millis;
use base::error::Result;
use domain::inbox::sync;
use domain::notification::{self, NotificationState};
use domain::tenant::Tenant;
use model::item::ItemContent;
use model::reader::ReaderLocale;
use store::{Store, transaction};

/// The most items that a digest lists.
const ITEMS: i64 = 20;

/// Deliveries with their items in memory at once.
const DELIVERIES: usize = 20;

/// A user's unread items.
#[derive(Debug)]
pub struct DigestContent<'a> {
    pub user: UserId,
    pub address: &'a str,
    pub locale: Option<&'a str>,
    /// The newest unread items, newest first.
    pub items: Vec<Cow<'a, ItemContent>>,
    /// How many unread items there are.
    pub many: usize,
}

/// Prepares digests, in their order, with a few statements per 20 deliveries. Drops a digest if its user has no new
/// unread items since the last one, or no longer has the address. Postpones it during quiet hours. `write` makes the
/// payload of the others.
///
/// Syncs the inboxes first, so that a digest shows what its user would see now.
pub async fn prepare_digests<P>(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    due: &[Delivery],
    mut write: impl FnMut(&DigestContent<'_>) -> Result<P>,
) -> Result<Vec<PreparedDelivery<P>>> {
    let mut prepared = Vec::with_capacity(due.len());
    for due in due.chunks(DELIVERIES) {
        let now = store.now();
        let shelf = DigestBatch::load(store, tenant, destination, due, now).await?;
        let mut served = Vec::new();
        for of in due {
            prepared.push(match shelf.readers.get(&of.contact_id) {
                None => PreparedDelivery::Dropped,
                Some(reader) => match reader.hours.parse().quiet_until(now) {
                    Some(until) => PreparedDelivery::Later(until),
                    None => match shelf.digest_for(reader, of) {
                        None => PreparedDelivery::Dropped,
                        Some(digest) => {
                            served.extend(of.seq.filter(|seq| *seq < shelf.upto).map(|_| digest.user));
                            PreparedDelivery::Ready(write(&digest)?)
                        }
                    },
                },
            });
        }
        // Items that came after the digest was due are in it, and do not cause another one.
        record_sent_upto(store, tenant, destination, &served, shelf.upto).await?;
    }
    Ok(prepared)
}

/// The unread items of some users.
struct DigestBatch {
    /// By id of their address.
    readers: HashMap<i64, DigestReader>,
    /// Newest first.
    items: HashMap<UserId, Vec<UnreadItem>>,
    /// By log position.
    contents: HashMap<Seq, ItemContent>,
    /// The inboxes were read up to this log position.
    upto: Seq,
}

impl DigestBatch {
    async fn load(
        store: &Store,
        tenant: &Tenant,
        destination: &Destination,
        due: &[Delivery],
        now: Millis,
    ) -> Result<Self> {
        let db = &store.db.read;
        let contacts: Vec<i64> = due.iter().map(|of| of.contact_id).collect();
        let readers: Vec<DigestReader> =
            select_readers(db, tenant, destination.kind, &contacts).fetch_by_name(db).await?;
        let mut users: Vec<UserId> = readers.iter().map(|of| of.user_id).collect();
        users.sort_unstable();
        users.dedup();
        let upto = sync::sync_to_end(store, tenant, &users).await?;
        let mut items: HashMap<UserId, Vec<UnreadItem>> = HashMap::new();
        for item in
            select_unread(db, tenant, destination.kind, &users, ITEMS, now).fetch_by_name::<UnreadItem>(db).await?
        {
            items.entry(item.user_id).or_default().push(item);
        }
        let mut seqs: Vec<Seq> = items.values().flatten().map(|item| item.seq).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let contents = load_contents(store, tenant, &seqs, now).await?;
        Ok(Self { readers: readers.into_iter().map(|of| (of.contact_id, of)).collect(), items, contents, upto })
    }

    /// The digest, or `None` if there is nothing new.
    fn digest_for<'a>(&'a self, reader: &'a DigestReader, of: &Delivery) -> Option<DigestContent<'a>> {
        let unread = self.items.get(&reader.user_id)?;
        let shown = unread.iter().filter_map(|item| Some((item, self.contents.get(&item.seq)?)));
        let shown: Vec<(&UnreadItem, &ItemContent)> = shown.collect();
        let (newest, _) = shown.first().filter(|(item, _)| item.seq.0 > of.subject_id.unwrap_or_default())?;
        let gone = unread.len() - shown.len();
        Some(DigestContent {
            user: reader.user_id,
            address: &reader.address,
            locale: reader.locale.as_deref(),
            items: shown.iter().map(|(_, content)| content_for(content, reader)).collect(),
            many: usize::try_from(newest.many).unwrap_or_default().saturating_sub(gone),
        })
    }
}

fn content_for<'a>(content: &'a ItemContent, reader: &DigestReader) -> Cow<'a, ItemContent> {
    let reader = ReaderLocale { locale: reader.locale.clone(), time_zone: reader.hours.time_zone.clone() };
    match reader.relevant_part(content.dependence()) {
        Some(reader) => Cow::Owned(content.for_reader(Arc::new(reader))),
        None => Cow::Borrowed(content),
    }
}

/// Records that the last digest of these users covers the log up to `upto`.
async fn record_sent_upto(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    users: &[UserId],
    upto: Seq,
) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    transaction!(store.db, |txn| {
        let of = Digests::update_of_tenant(tenant.id).filter(Column::LaneId.eq(destination.id));
        let of = of.filter(Column::UserId.is_in_list(txn, users)).filter(Column::UptoSeq.lt(upto));
        of.col_expr(Column::UptoSeq, Expr::val(upto)).exec(txn).await?;
        Ok(())
    })
}

/// The contents of notifications that are still published, by log position.
async fn load_contents(store: &Store, tenant: &Tenant, seqs: &[Seq], now: Millis) -> Result<HashMap<Seq, ItemContent>> {
    let db = &store.db.read;
    let ids = Notifications::of_tenant(tenant.id).filter(Published::Seq.is_in_list(db, seqs)).select_only();
    let ids: Vec<(i64, Seq)> = ids.columns([Published::Id, Published::Seq]).into_tuple().all(db).await?;
    let shown =
        notification::load_for_display(store, tenant, &ids.iter().map(|(id, _)| *id).collect::<Vec<_>>()).await?;
    let content = |(id, seq): (i64, Seq)| {
        let of = shown.get(id).filter(|of| of.status(now) == NotificationState::Published)?;
        Some((seq, shown.render_content(of)))
    };
    Ok(ids.into_iter().filter_map(content).collect())
}

//! The list: a page of a user's inbox, newest first, in one statement.
//!
//! A list of all types walks the key of `inbox_item` from one end, over at most three pages. If archived or expired
//! items leave the page short, the server reads the ranges of types and states instead and merges them, which skips any
//! number of hidden items. A list of some types, or of unread items, uses the ranges at once.
//!
//! MySQL and MariaDB use an index range only if its bounds are constants. There, `ranges::SqlOperand` writes constants
//! and sub-selects over a primary key, one `UNION ALL` branch per user and type; elsewhere it writes columns of an
//! outer query.

mod filter;
mod queries;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{ConnectionTrait, FromColumns};

use super::freshness::{self, FreshnessVerdict, InboxPosition, ReadBound};
use super::item::{ContentReader, UserItem};
use crate::catalogue;
use crate::tenant::Tenant;
use base::error::{Error, Result};
pub use filter::{ItemFilter, PageEnd, PageStrategy, PageWindow};
use model::cache_validator::CacheValidator;
use model::notification_cache::ContentRevision;
pub use queries::page_query;
pub(super) use queries::push_target;
use queries::{FreshnessColumns, PageRow};
use store::Store;

/// A part of a list as of one log position.
#[derive(Clone, Debug)]
pub struct InboxPage {
    /// Newest first.
    pub items: Vec<UserItem>,
    /// The item from which the list goes on in the direction of the read: the last item of a full page, or the last
    /// that the filter examined. `None` at the end of the list.
    pub goes_on_at: Option<Seq>,
    /// The log position. Later entries are not in the list.
    pub upto: Seq,
    /// The cache validator of this page. `None` if the page cannot be validated.
    pub proof: Option<Arc<CacheValidator>>,
}

/// Returns a page of a user's inbox. Syncs the inbox first if it is behind the log.
pub async fn load_page(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    filter: &ItemFilter,
    window: PageWindow,
) -> Result<InboxPage> {
    filter.check()?;
    let mut window = window;
    let mut catalogue = catalogue::load_cached(store, tenant).await?;
    let (mut reach, mut way, mut is_of_one) = (ReadBound::End, filter.first_strategy(), true);
    loop {
        let now = store.now();
        let statement = page_query(store, tenant, user, (filter, way), window, (&catalogue, reach));
        let found = store.db.read.query_all_raw(statement.into_statement()).await?;
        let stands = found.first().map(|row| FreshnessColumns::read_columns(row, 0)).transpose()?;
        let standings: Vec<InboxPosition> = stands.iter().map(|(standing, _)| *standing).collect();
        match freshness::check_or_sync(store, tenant, &standings, &catalogue).await? {
            FreshnessVerdict::Stands => {}
            FreshnessVerdict::Outdated(newer) => {
                catalogue = newer;
                continue;
            }
            FreshnessVerdict::WereBehind(_) => {
                reach = ReadBound::Cursor;
                continue;
            }
        }
        let Some((standing, stamp)) = stands else { return Err(Error::Erased) };
        catalogue.select_types("filter.types", filter.types.as_deref())?;
        let mut rows = found.iter().map(PageRow::from_result).collect::<Result<Vec<_>>>()?;
        let place = |row: &PageRow<'_>| row.own.as_ref().map(|own| own.seq);
        match window.end {
            PageEnd::Newest => rows.sort_unstable_by_key(|row| Reverse(place(row))),
            PageEnd::Oldest => rows.sort_unstable_by_key(place),
        }
        // Counts rows, not shown items: an item without a notification still takes up a row.
        let seqs: Vec<Seq> = rows.iter().filter_map(place).collect();
        let walked_to = rows.iter().find_map(|row| row.walked_to);
        if way == PageStrategy::Walk && walked_to.is_some() {
            way = PageStrategy::Ranges;
            continue;
        }
        let is_full = seqs.len() > window.many;
        let reading = ContentReader::new(store, tenant, &catalogue, stamp.texts);
        let shown = rows.iter().take(window.many).filter_map(|row| row.read_item(&reading).transpose());
        let (mut items, editions): (Vec<UserItem>, Vec<_>) = shown.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let proof = CacheValidator::for_inbox(&standing, stamp, now).filter(|_| is_of_one).map(|mut proof| {
            let senders: BTreeSet<(UserId, i64)> = editions.iter().filter_map(ContentRevision::sender).collect();
            proof.senders = Vec::from_iter(senders);
            Arc::new(proof)
        });
        if let Some(last) = seqs.get(window.many.wrapping_sub(1)).filter(|_| items.is_empty() && is_full) {
            match window.end {
                PageEnd::Newest => window.older_than = Some(*last),
                PageEnd::Oldest => window.newer_than = Some(*last),
            }
            // An earlier statement read the skipped items, so the validator would not cover them.
            is_of_one = false;
            continue;
        }
        if window.end == PageEnd::Oldest {
            items.reverse();
        }
        let upto = standing.complete_upto();
        // A page of zero items goes on at its first row.
        let last = seqs.get(window.many.saturating_sub(1)).copied();
        return Ok(InboxPage { items, goes_on_at: if is_full { last } else { walked_to }, upto, proof });
    }
}

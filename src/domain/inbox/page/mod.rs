//! The list: a page of a user's inbox, newest first, in one statement.
//!
//! A list of all types walks the key of `inbox_item` from its end, over at most three pages; if archived or expired items leave the page
//! short, the merged ranges of types and states follow, which skip any number of those. A list of some types, or of unread items, uses the
//! ranges at once. MySQL and MariaDB use a range of an index only if its bounds are constants, so `shelf::Place` writes constants
//! and sub-selects over a primary key there, one `UNION ALL` branch per user and type, and columns of an outer query elsewhere.

mod statement;
mod window;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{Columns, ConnectionTrait};

use super::item::{Item, Reading};
use super::standing::{self, Reach, Standing, Verdict};
use crate::app::App;
use crate::domain::catalogue::{self};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::contents::Edition;
use crate::model::proof::Proof;
use statement::{Row, Stands};

pub(super) use statement::push_target;
pub use statement::statement;
pub use window::{End, Filter, Way, Window};

/// A part of a list, which is of one place in the log.
#[derive(Clone, Debug)]
pub struct Page {
    /// Newest first.
    pub items: Vec<Item>,
    /// Where the list goes on, beyond this one, towards the end that was walked to: at the last item of a full page, or of those
    /// that were passed over.
    pub goes_on_at: Option<Seq>,
    /// That place. What came after it is not in the list.
    pub upto: Seq,
    /// By which it is known that the same would be read again; nothing where that cannot be told.
    pub proof: Option<Arc<Proof>>,
}

/// A page of a user's inbox, which is synced first where it is behind.
pub async fn read(app: &App, tenant: &Tenant, user: UserId, filter: &Filter, window: Window) -> Result<Page> {
    filter.check()?;
    let mut window = window;
    let mut catalogue = catalogue::cached(app, tenant).await?;
    let (mut reach, mut way, mut is_of_one) = (Reach::End, filter.way(), true);
    loop {
        let now = app.now();
        let statement = statement(app, tenant, user, (filter, way), window, (&catalogue, reach));
        let found = app.db.read.query_all_raw(statement.into_statement()).await?;
        let stands = found.first().map(|row| Stands::read(row, 0)).transpose()?;
        let standings: Vec<Standing> = stands.iter().map(|(standing, _)| *standing).collect();
        match standing::check(app, tenant, &standings, &catalogue).await? {
            Verdict::Stands => {}
            Verdict::Outdated(newer) => {
                catalogue = newer;
                continue;
            }
            Verdict::WereBehind(_) => {
                reach = Reach::Cursor;
                continue;
            }
        }
        let Some((standing, stamp)) = stands else { return Err(Error::Erased) };
        catalogue.chosen("filter.types", filter.types.as_deref())?;
        let mut rows = found.iter().map(Row::of).collect::<Result<Vec<_>>>()?;
        let place = |row: &Row<'_>| row.own.as_ref().map(|own| own.seq);
        match window.end {
            End::Newest => rows.sort_unstable_by_key(|row| Reverse(place(row))),
            End::Oldest => rows.sort_unstable_by_key(place),
        }
        // By rows: an item whose notification has gone fills a place all the same.
        let seqs: Vec<Seq> = rows.iter().filter_map(place).collect();
        let walked_to = rows.iter().find_map(|row| row.walked_to);
        if way == Way::Walk && walked_to.is_some() {
            way = Way::Ranges;
            continue;
        }
        let is_full = seqs.len() > window.many;
        let reading = Reading::by(app, tenant, &catalogue, stamp.texts);
        let shown = rows.iter().take(window.many).filter_map(|row| row.item(&reading).transpose());
        let (mut items, editions): (Vec<Item>, Vec<_>) = shown.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let proof = Proof::of(&standing, stamp, now).filter(|_| is_of_one).map(|mut proof| {
            let senders: BTreeSet<(UserId, i64)> = editions.iter().filter_map(Edition::sender).collect();
            proof.senders = Vec::from_iter(senders);
            Arc::new(proof)
        });
        if let Some(last) = seqs.get(window.many.wrapping_sub(1)).filter(|_| items.is_empty() && is_full) {
            match window.end {
                End::Newest => window.older_than = Some(*last),
                End::Oldest => window.newer_than = Some(*last),
            }
            // What was passed over was so by another statement.
            is_of_one = false;
            continue;
        }
        if window.end == End::Oldest {
            items.reverse();
        }
        let upto = standing.complete_upto();
        // A page for nothing at all goes on before its first.
        let last = seqs.get(window.many.saturating_sub(1)).copied();
        return Ok(Page { items, goes_on_at: if is_full { last } else { walked_to }, upto, proof });
    }
}

//! Views that read themselves: chats, feeds and news pages, whose items are not marked one by one.
//!
//! `view.position` counts what happened in a view, and each member's `view_visit.position` is that count when they last looked, joined
//! or acted there. The unread count is the difference. An activity therefore writes one row of the view, one of its actor and one
//! for its idempotency key, for any number of members. An overview reads all of a user's views in one statement, if `total` or
//! `views` is asked for (`list`).
//!
//! Live (`domain::live`): the commit names the views that changed, and other nodes hear of a view at most ten times a second. A room reads
//! a named view once for all its connected members, compares each member's state with what was last sent, and sends the differences. A
//! session keeps only the newest state of each view. Views have no seq that would reveal a lost notice, so a node that misses
//! notices reads the views of all its users again, and every user's views are read once in half a minute anyway.

mod activity;
mod list;
mod member;
mod state;
mod statement;
mod sweep;

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view::{self, Column, Entity as Views};
use entity::view_visit;
use sea_orm::sea_query::{ExprTrait, IntoCondition};

use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::error::{Error, Result};

pub use crate::model::view::{Key, Unread, View};
pub use activity::{Activity, record};
pub use list::{Listing, VIEWS, after, check_keys, of, unread_of};
pub use member::{By, join, leave, visit};
pub use state::{PAIRS, ViewState, standings, states};
pub use sweep::sweep;

/// `view.touched_at` may lag by this much, in milliseconds: looking at a view writes to it once a day at the most.
const TOUCH: Millis = 24 * 60 * 60 * 1000;

/// The row of a view.
#[derive(Clone, Debug, DerivePartialModel)]
#[sea_orm(entity = "view::Entity")]
struct Row {
    id: ViewId,
    #[sea_orm(nested)]
    key: Key,
    position: i64,
    last_activity_at: Option<Millis>,
    latest: Option<String>,
    touched_at: Millis,
}

/// How far a user has seen a view.
#[derive(Clone, Copy, Debug, DerivePartialModel)]
#[sea_orm(entity = "view_visit::Entity")]
struct Visit {
    position: i64,
    visited_at: Option<Millis>,
}

/// Since when a user is in a view, how far it has come, and how far they have seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Standing {
    joined_at: Millis,
    position: i64,
    visited: i64,
}

/// A view, and a user's visit to it if they are in it.
#[derive(DerivePartialModel)]
struct Found {
    #[sea_orm(nested)]
    row: Row,
    #[sea_orm(nested)]
    visit: Option<Visit>,
}

impl Row {
    fn seen(&self, user: Option<UserId>, visit: Option<Visit>) -> Result<View> {
        let latest = self.latest.as_deref().map(serde_json::from_str).transpose();
        Ok(View {
            row: self.id,
            key: self.key.clone(),
            user,
            unread: visit.map_or(0, |visit| Ord::max(self.position - visit.position, 0)),
            last_activity_at: self.last_activity_at,
            last_visited_at: visit.and_then(|visit| visit.visited_at),
            latest: latest.map_err(Error::internal)?,
        })
    }
}

/// A view, and a user's visit to it. Probes of `view_external_id` and of `view_visit`'s key.
async fn find(db: &impl ConnectionTrait, tenant: &Tenant, key: &Key, user: Option<UserId>) -> Result<Option<Found>> {
    let user = user.unwrap_or_default();
    let of = move |_, visit| Expr::col((visit, view_visit::Column::UserId)).eq(user).into_condition();
    let visit = view_visit::Relation::View.def().rev().on_condition(of);
    let found = Views::of_tenant(tenant.id).join(JoinType::LeftJoin, visit);
    let found = found.filter(Column::Code.eq(&key.code)).filter(Column::ExternalId.eq(&key.id));
    Ok(found.into_partial_model().one(db).await?)
}

/// A view by its row, as a user sees it who is in it, or as nobody; nothing where there is none, or the user is not in it.
pub async fn find_by_row(app: &App, tenant: &Tenant, view: ViewId, user: Option<UserId>) -> Result<Option<View>> {
    let Some(user) = user else {
        let row: Option<Row> =
            Views::of_tenant(tenant.id).filter(Column::Id.eq(view)).into_partial_model().one(&app.db.read).await?;
        return row.map(|row| row.seen(None, None)).transpose();
    };
    let next = after(app, user, ViewId(view.0 - 1), 1).await?;
    Ok(next.into_iter().find(|(row, _)| *row == view).map(|(_, view)| view))
}

/// The rows of views, locked one after the other in the order of their codes and rows, making those that are missing.
async fn lock(txn: &Transaction, tenant: &Tenant, keys: &[Key], now: Millis) -> Result<HashMap<Key, Row>> {
    let mut by_code: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut keys: Vec<&Key> = keys.iter().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in &keys {
        match by_code.last_mut() {
            Some((code, ids)) if *code == key.code => ids.push(&key.id),
            _ => by_code.push((&key.code, vec![&key.id])),
        }
    }
    let mut rows = HashMap::with_capacity(keys.len());
    for (code, ids) in by_code {
        let found = lock_some(txn, tenant, code, &ids, &mut rows).await?;
        if found == ids.len() {
            continue;
        }
        let is_missing = |id: &&str| !rows.contains_key(&Key { code: code.into(), id: (*id).into() });
        let missing: Vec<&str> = ids.into_iter().filter(is_missing).collect();
        let columns = [Column::TenantId, Column::Code, Column::ExternalId, Column::TouchedAt];
        let row = |id: &&str| [tenant.id.into(), code.into(), (*id).into(), now.into()];
        insert(txn, columns, missing.iter().map(row).collect(), Existing::Kept).await?;
        if lock_some(txn, tenant, code, &missing, &mut rows).await? < missing.len() {
            return Err(Error::internal("a view vanished while being made"));
        }
    }
    Ok(rows)
}

/// Ranges of `view_external_id`. What is not there is not locked. Returns how many are.
async fn lock_some(
    txn: &Transaction,
    tenant: &Tenant,
    code: &str,
    ids: &[&str],
    rows: &mut HashMap<Key, Row>,
) -> Result<usize> {
    let some = Views::of_tenant(tenant.id).filter(Column::Code.eq(code)).filter(Column::ExternalId.among(txn, ids));
    let some = some.order_by_asc(Column::Id).for_update(txn);
    let found: Vec<Row> = some.into_partial_model().all(txn).await?;
    let many = found.len();
    rows.extend(found.into_iter().map(|row| (row.key.clone(), row)));
    Ok(many)
}

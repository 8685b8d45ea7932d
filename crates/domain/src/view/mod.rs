//! Views: chats, feeds and news pages. Users do not mark their items one by one; a visit makes everything read.
//!
//! `view.position` counts the activities in a view. Each member's `view_visit.position` is that count when they last
//! looked, joined or acted there. The unread count is the difference. So an activity writes one row of the view, one of
//! its actor and one for its idempotency key, for any number of members. An overview reads all of a user's views in one
//! statement, if the request has `total` or `views` (`list`).
//!
//! Live (`domain::live`): the commit names the views that changed. Other nodes learn of a view at most ten times a
//! second. A room reads a named view once for all its connected members, compares each member's state with the last one
//! sent, and sends the differences. A session keeps only the newest state of each view. Views have no seq that would
//! reveal a lost notice. So a node that misses notices reads the views of all its users again, and each user's views
//! are also read once in half a minute.

mod activity;
mod list;
mod member;
mod queries;
mod state;
mod sweep;

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view::{self, Column, Entity as Views};
use entity::view_visit;
use sea_orm::sea_query::{ExprTrait, IntoCondition};

use super::tenant::Tenant;
pub use activity::{ViewActivity, record_activities};
use base::clock::Millis;
use base::error::{Error, Result};
pub use list::{VIEWS, ViewListing, check_keys, list_after, load_lists, load_unread};
pub use member::{MembershipCaller, join, leave, visit};
pub use model::view::{UnreadViews, UserView, ViewKey};
pub use state::{PAIRS, ViewState, load_positions, load_states};
use store::{Store, Transaction};
pub use sweep::sweep;

/// How far `view.touched_at` may lag, in milliseconds: visits write to a view once a day at most.
const TOUCH: Millis = 24 * 60 * 60 * 1000;

/// The row of a view.
#[derive(Clone, Debug, DerivePartialModel)]
#[sea_orm(entity = "view::Entity")]
struct ViewRow {
    id: ViewId,
    #[sea_orm(nested)]
    key: ViewKey,
    position: i64,
    last_activity_at: Option<Millis>,
    latest: Option<String>,
    touched_at: Millis,
}

/// How far a user has seen a view.
#[derive(Clone, Copy, Debug, DerivePartialModel)]
#[sea_orm(entity = "view_visit::Entity")]
struct VisitState {
    position: i64,
    visited_at: Option<Millis>,
}

/// When a user joined a view, its position, and the position that they have seen it up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct MemberPosition {
    joined_at: Millis,
    position: i64,
    visited: i64,
}

/// A view, and a user's visit to it if they are in it.
#[derive(DerivePartialModel)]
struct ViewWithVisit {
    #[sea_orm(nested)]
    row: ViewRow,
    #[sea_orm(nested)]
    visit: Option<VisitState>,
}

impl ViewRow {
    fn to_view(&self, user: Option<UserId>, visit: Option<VisitState>) -> Result<UserView> {
        let latest = self.latest.as_deref().map(serde_json::from_str).transpose();
        Ok(UserView {
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
async fn find_view(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    key: &ViewKey,
    user: Option<UserId>,
) -> Result<Option<ViewWithVisit>> {
    let user = user.unwrap_or_default();
    let of = move |_, visit| Expr::col((visit, view_visit::Column::UserId)).eq(user).into_condition();
    let visit = view_visit::Relation::View.def().rev().on_condition(of);
    let found = Views::of_tenant(tenant.id).join(JoinType::LeftJoin, visit);
    let found = found.filter(Column::Code.eq(&key.code)).filter(Column::ExternalId.eq(&key.id));
    Ok(found.into_partial_model().one(db).await?)
}

/// A view by its row, as a member sees it or without a user. `None` if it does not exist, or the user is not a member.
pub async fn find_by_row(
    store: &Store,
    tenant: &Tenant,
    view: ViewId,
    user: Option<UserId>,
) -> Result<Option<UserView>> {
    let Some(user) = user else {
        let row: Option<ViewRow> =
            Views::of_tenant(tenant.id).filter(Column::Id.eq(view)).into_partial_model().one(&store.db.read).await?;
        return row.map(|row| row.to_view(None, None)).transpose();
    };
    let next = list_after(store, user, ViewId(view.0 - 1), 1).await?;
    Ok(next.into_iter().find(|(row, _)| *row == view).map(|(_, view)| view))
}

/// Locks the rows of views in the order of their codes and rows. Creates missing ones.
async fn lock_views(
    txn: &Transaction,
    tenant: &Tenant,
    keys: &[ViewKey],
    now: Millis,
) -> Result<HashMap<ViewKey, ViewRow>> {
    let mut by_code: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut keys: Vec<&ViewKey> = keys.iter().collect();
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
        let found = lock_existing(txn, tenant, code, &ids, &mut rows).await?;
        if found == ids.len() {
            continue;
        }
        let is_missing = |id: &&str| !rows.contains_key(&ViewKey { code: code.into(), id: (*id).into() });
        let missing: Vec<&str> = ids.into_iter().filter(is_missing).collect();
        let columns = [Column::TenantId, Column::Code, Column::ExternalId, Column::TouchedAt];
        let row = |id: &&str| [tenant.id.into(), code.into(), (*id).into(), now.into()];
        insert(txn, columns, missing.iter().map(row).collect(), ExistingRows::Kept).await?;
        if lock_existing(txn, tenant, code, &missing, &mut rows).await? < missing.len() {
            return Err(Error::internal("a view is missing after it was created"));
        }
    }
    Ok(rows)
}

/// Locks the existing rows, and returns how many there are: ranges of `view_external_id`.
async fn lock_existing(
    txn: &Transaction,
    tenant: &Tenant,
    code: &str,
    ids: &[&str],
    rows: &mut HashMap<ViewKey, ViewRow>,
) -> Result<usize> {
    let some =
        Views::of_tenant(tenant.id).filter(Column::Code.eq(code)).filter(Column::ExternalId.is_in_list(txn, ids));
    let some = some.order_by_asc(Column::Id).for_update(txn);
    let found: Vec<ViewRow> = some.into_partial_model().all(txn).await?;
    let many = found.len();
    rows.extend(found.into_iter().map(|row| (row.key.clone(), row)));
    Ok(many)
}

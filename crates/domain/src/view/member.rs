//! Members of views: joining, visiting and leaving.

use std::collections::BTreeSet;

use entity::ids::UserId;
use entity::prelude::*;
use entity::view::{self, Entity as Views};
use entity::view_visit::{Column, Entity as Visits};
use sea_orm::sea_query::{ExprTrait, Func};

use super::{TOUCH, UserView, ViewKey, ViewRow, ViewWithVisit, VisitState, find_view};
use crate::tenant::Tenant;
use crate::{catalogue, user};
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::validate;
use store::{Store, Transaction, transaction};

/// The most users who join or leave in one call.
const USERS: usize = 10_000;

/// How often a visit or join is retried because the view was swept, or the member removed, meanwhile.
const TRIES: usize = 5;

/// The caller of a join or leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipCaller {
    /// The backend, which has no restrictions.
    Backend,
    /// The users themselves, if the code is open.
    Themselves,
}

/// Adds users to a view, which is created if missing. Members stay as they are. New members have nothing unread.
///
/// At most 10,000 in one transaction. `FORBIDDEN` for users themselves if the code is not open. Returns the view as the
/// user sees it, or without a user if there are several.
pub async fn join(
    store: &Store,
    tenant: &Tenant,
    by: MembershipCaller,
    key: &ViewKey,
    users: &[String],
) -> Result<UserView> {
    check_allowed(store, tenant, by, key, users).await?;
    let (mut is_joined, mut rows) = (false, Vec::new());
    for _ in 0..TRIES {
        rows = user::find_or_create(store, tenant, "users", users).await?;
        rows.sort_unstable();
        rows.dedup();
        let tried = transaction!(store.db, |txn| {
            let now = store.now();
            user::lock_users(txn, tenant, &rows).await?;
            let row = find_or_create(txn, tenant, key, now).await?;
            if !touch_view(txn, &row, now).await? {
                return Ok(false);
            }
            let (id, position) = (row.id, row.position);
            let visits = rows.iter().map(|user| [(*user).into(), id.into(), position.into(), now.into()]).collect();
            let columns = [Column::UserId, Column::ViewId, Column::Position, Column::JoinedAt];
            insert(txn, columns, visits, ExistingRows::Kept).await?;
            txn.notify(Notice::view_joins(tenant.id, id, &rows));
            Ok(true)
        });
        is_joined = match tried {
            Err(Error::Erased) => false,
            tried => tried?,
        };
        if is_joined {
            break;
        }
    }
    if !is_joined {
        return Err(busy_error());
    }
    let only = if let [user] = rows.as_slice() { Some(*user) } else { None };
    let ViewWithVisit { row, visit } =
        find_view(&store.db.read, tenant, key, only).await?.ok_or_else(|| key.not_found_error())?;
    row.to_view(only, visit)
}

/// Removes users from a view; non-members are ignored. Same limits as [`join`]; `NOT_FOUND` if there is no view.
pub async fn leave(
    store: &Store,
    tenant: &Tenant,
    by: MembershipCaller,
    key: &ViewKey,
    users: &[String],
) -> Result<UserView> {
    check_allowed(store, tenant, by, key, users).await?;
    let users: BTreeSet<UserId> = user::find_existing(store, tenant, users).await?.into_values().collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let ViewWithVisit { row, .. } =
        find_view(&store.db.read, tenant, key, None).await?.ok_or_else(|| key.not_found_error())?;
    transaction!(store.db, |txn| {
        for users in users.chunks(LIST) {
            let theirs = |users: &[UserId]| Column::UserId.is_in_list(txn, users).and(Column::ViewId.eq(row.id));
            let members = Visits::find().filter(theirs(users)).order_by_asc(Column::UserId).for_update(txn);
            let members: Vec<UserId> = members.select_only().column(Column::UserId).into_tuple().all(txn).await?;
            if !members.is_empty() {
                Visits::delete_many().filter(theirs(&members)).exec(txn).await?;
                txn.notify(Notice::view_visits(tenant.id, row.id, &members));
            }
        }
        Ok(())
    })?;
    row.to_view(if let [user] = users.as_slice() { Some(*user) } else { None }, None)
}

async fn check_allowed(
    store: &Store,
    tenant: &Tenant,
    by: MembershipCaller,
    key: &ViewKey,
    users: &[String],
) -> Result<()> {
    key.check().map_err(|error| error.with_field_prefix("key"))?;
    validate::at_most("users", users.len(), USERS)?;
    validate::identifiers("users", users)?;
    if by == MembershipCaller::Themselves && !catalogue::load_current(store, tenant).await?.is_open_view(&key.code) {
        return Err(Error::Forbidden(format!("users cannot join or leave views of the code {:?}", key.code)));
    }
    Ok(())
}

/// Records that a user has seen everything in a view. Concurrent visits never move the position back.
///
/// A non-member joins if the code is open; otherwise it is `NOT_FOUND`, as if the view did not exist. Two statements
/// for a member, one of which writes only their own row. The user's sessions are notified if anything was unread.
pub async fn visit(store: &Store, tenant: &Tenant, user: UserId, key: &ViewKey) -> Result<UserView> {
    key.check().map_err(|error| error.with_field_prefix("key"))?;
    for _ in 0..TRIES {
        let found = find_view(&store.db.read, tenant, key, Some(user)).await?;
        let visited = match found {
            Some(ViewWithVisit { row, visit: Some(visit) }) => update_visit(store, tenant, user, row, visit).await?,
            _ if catalogue::load_current(store, tenant).await?.is_open_view(&key.code) => {
                join_by_visit(store, tenant, user, key).await?
            }
            _ => return Err(key.not_found_error()),
        };
        if let Some((row, visited_at)) = visited {
            return row.to_view(Some(user), Some(VisitState { position: row.position, visited_at: Some(visited_at) }));
        }
    }
    Err(busy_error())
}

/// The visit of a member, after the visit `before`. `None` if the member or the view no longer exists.
async fn update_visit(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    row: ViewRow,
    before: VisitState,
) -> Result<Option<(ViewRow, Millis)>> {
    let now = store.now();
    let is_done = transaction!(store.db, |txn| {
        if !touch_view(txn, &row, now).await? {
            return Ok(false);
        }
        let position = Func::greatest([Expr::col(Column::Position), Expr::val(row.position)]);
        let visited_at = Func::coalesce([Expr::col(Column::VisitedAt), Expr::val(0_i64)]);
        let visited_at = Func::greatest([visited_at.into(), Expr::val(now)]);
        let look = Visits::update_of_user(user).filter(Column::ViewId.eq(row.id));
        let look = look.col_expr(Column::Position, position.into()).col_expr(Column::VisitedAt, visited_at.into());
        let is_done = look.exec(txn).await?.rows_affected > 0;
        if is_done && before.position < row.position {
            txn.notify(Notice::view_visits(tenant.id, row.id, &[user]));
        }
        Ok(is_done)
    })?;
    Ok(is_done.then_some((row, now)))
}

/// The first visit of a user, who joins by it. `None` if the view is swept meanwhile.
async fn join_by_visit(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    key: &ViewKey,
) -> Result<Option<(ViewRow, Millis)>> {
    transaction!(store.db, |txn| {
        let now = store.now();
        user::lock_users(txn, tenant, &[user]).await?;
        let row = find_or_create(txn, tenant, key, now).await?;
        if !touch_view(txn, &row, now).await? {
            return Ok(None);
        }
        upsert_visits(txn, vec![[user.into(), row.id.into(), row.position.into(), now.into(), now.into()]]).await?;
        txn.notify(Notice::view_joins(tenant.id, row.id, &[user]));
        Ok(Some((row, now)))
    })
}

/// Writes visits (user, view, position, visited at, joined at), and moves none back. Non-members join.
///
/// The visits are in the order of users, so that two transactions cannot deadlock.
pub(super) async fn upsert_visits(txn: &Transaction, visits: Vec<[Value; 5]>) -> Result<()> {
    let columns = [Column::UserId, Column::ViewId, Column::Position, Column::VisitedAt, Column::JoinedAt];
    let (key, raised) = (&[Column::UserId, Column::ViewId], &[Column::Position, Column::VisitedAt]);
    insert(txn, columns, visits, ExistingRows::Merged { key, raised, replaced: &[] }).await?;
    Ok(())
}

/// The row of a view, created if it is missing.
async fn find_or_create(txn: &Transaction, tenant: &Tenant, key: &ViewKey, now: Millis) -> Result<ViewRow> {
    if let Some(ViewWithVisit { row, .. }) = find_view(txn, tenant, key, None).await? {
        return Ok(row);
    }
    let rows = super::lock_views(txn, tenant, std::slice::from_ref(key), now).await?;
    rows.into_values().next().ok_or_else(|| Error::internal("a view is missing after it was created"))
}

/// Keeps the sweep from deleting a view. Returns false if the sweep already has.
///
/// Writes once a day at most. A view that was touched within the last day is not swept for a year.
async fn touch_view(txn: &Transaction, row: &ViewRow, now: Millis) -> Result<bool> {
    if now - row.touched_at < TOUCH {
        return Ok(true);
    }
    let touched_at = Func::greatest([Expr::col(view::Column::TouchedAt), Expr::val(now)]);
    let touch = Views::update_many().col_expr(view::Column::TouchedAt, touched_at.into());
    Ok(touch.filter(view::Column::Id.eq(row.id)).exec(txn).await?.rows_affected > 0)
}

fn busy_error() -> Error {
    Error::Unavailable("the view changes too quickly, try again in a moment".into())
}

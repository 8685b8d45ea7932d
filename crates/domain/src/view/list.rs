//! Lists of views and their unread counts: one statement for any number of users.

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view_visit::{Column, Entity as Visits, Relation};

use super::queries::{self, ListedView, ViewFilter};
use super::{UnreadViews, UserView, ViewKey, ViewWithVisit};
use crate::tenant::Tenant;
use base::error::Result;
use model::validate;
use store::Store;

/// The most views of one list.
pub const VIEWS: usize = 200;

/// Which of a user's views to list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ViewListing {
    /// This many, most recently active first.
    Newest(usize),
    /// The views with these keys that the user is a member of, in this order; at most 200.
    These(Vec<ViewKey>),
}

/// Refuses invalid keys, and more than 200.
pub fn check_keys(keys: &[ViewKey]) -> Result<()> {
    validate::at_most("keys", keys.len(), VIEWS)?;
    let within = |(place, key): (usize, &ViewKey)| {
        key.check().map_err(|error| error.with_field_prefix(&format!("keys[{place}]")))
    };
    keys.iter().enumerate().try_for_each(within)
}

/// The lists of views of users.
pub async fn load_lists(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
    listing: &ViewListing,
) -> Result<HashMap<UserId, Vec<UserView>>> {
    let listed: Vec<ListedView> = match listing {
        ViewListing::Newest(first) => {
            let newest = queries::load_newest(store, users, *first, ViewFilter::All).await?;
            newest.into_iter().map(|of| of.listed).collect()
        }
        ViewListing::These(keys) => {
            check_keys(keys)?;
            let mut these = queries::load_by_keys(store, tenant, users, keys).await?;
            these.sort_by_cached_key(|of| keys.iter().position(|key| *key == of.row.key));
            these
        }
    };
    let mut lists: HashMap<UserId, Vec<UserView>> = HashMap::with_capacity(users.len());
    for ListedView { user_id, row, visit } in listed {
        lists.entry(user_id).or_default().push(row.to_view(Some(user_id), Some(visit))?);
    }
    Ok(lists)
}

/// At most `many` of a user's views after `view`, in the order of their rows: a range of `view_visit`'s key.
pub async fn list_after(store: &Store, user: UserId, view: ViewId, many: usize) -> Result<Vec<(ViewId, UserView)>> {
    let after = Visits::of_user(user).filter(Column::ViewId.gt(view)).order_by_asc(Column::ViewId);
    let after = after.join(JoinType::InnerJoin, Relation::View.def()).limit(many as u64);
    let found: Vec<ViewWithVisit> = after.into_partial_model().all(&store.db.read).await?;
    found.into_iter().map(|ViewWithVisit { row, visit }| Ok((row.id, row.to_view(Some(user), visit)?))).collect()
}

/// The unread counts of users, each with the first unread views. Users without anything unread are left out.
pub async fn load_unread(store: &Store, users: &[UserId], first: usize) -> Result<HashMap<UserId, UnreadViews>> {
    // The total is a column of the views' rows, so at least one row is read.
    let newest = queries::load_newest(store, users, first.max(1), ViewFilter::Unread).await?;
    let mut unread: HashMap<UserId, UnreadViews> = HashMap::with_capacity(users.len());
    for of in newest {
        let ListedView { user_id, row, visit } = of.listed;
        let unread = unread.entry(user_id).or_default();
        unread.total = of.total;
        if unread.views.len() < first {
            unread.views.push(row.to_view(Some(user_id), Some(visit))?);
        }
    }
    Ok(unread)
}

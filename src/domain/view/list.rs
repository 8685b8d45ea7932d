//! Lists of views and their unread counts: one statement for any number of users.

use std::collections::HashMap;

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view_visit::{Column, Entity as Visits, Relation};

use super::statement::{self, Listed, Which};
use super::{Found, Key, Unread, View};
use crate::app::App;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::check;

/// The most views of one list.
pub const VIEWS: usize = 200;

/// Which of a user's views to list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// This many, most recently active first.
    Newest(usize),
    /// The views with these keys that the user is a member of, in this order; at most 200.
    These(Vec<Key>),
}

/// Refuses invalid keys, and more than 200.
pub fn check_keys(keys: &[Key]) -> Result<()> {
    check::count("keys", keys.len(), VIEWS)?;
    let within = |(place, key): (usize, &Key)| key.check().map_err(|error| error.within(&format!("keys[{place}]")));
    keys.iter().enumerate().try_for_each(within)
}

/// The lists of views of users.
pub async fn of(app: &App, tenant: &Tenant, users: &[UserId], listing: &Listing) -> Result<HashMap<UserId, Vec<View>>> {
    let listed: Vec<Listed> = match listing {
        Listing::Newest(first) => {
            let newest = statement::newest(app, users, *first, Which::All).await?;
            newest.into_iter().map(|of| of.listed).collect()
        }
        Listing::These(keys) => {
            check_keys(keys)?;
            let mut these = statement::these(app, tenant, users, keys).await?;
            these.sort_by_cached_key(|of| keys.iter().position(|key| *key == of.row.key));
            these
        }
    };
    let mut lists: HashMap<UserId, Vec<View>> = HashMap::with_capacity(users.len());
    for Listed { user_id, row, visit } in listed {
        lists.entry(user_id).or_default().push(row.seen(Some(user_id), Some(visit))?);
    }
    Ok(lists)
}

/// At most `many` of a user's views after `view`, in the order of their rows: a range of `view_visit`'s key.
pub async fn after(app: &App, user: UserId, view: ViewId, many: usize) -> Result<Vec<(ViewId, View)>> {
    let after = Visits::of_user(user).filter(Column::ViewId.gt(view)).order_by_asc(Column::ViewId);
    let after = after.join(JoinType::InnerJoin, Relation::View.def()).limit(many as u64);
    let found: Vec<Found> = after.into_partial_model().all(&app.db.read).await?;
    found.into_iter().map(|Found { row, visit }| Ok((row.id, row.seen(Some(user), visit)?))).collect()
}

/// The unread counts of users, each with the first unread views. Users without anything unread are left out.
pub async fn unread_of(app: &App, users: &[UserId], first: usize) -> Result<HashMap<UserId, Unread>> {
    // The total is a column of the views' rows, so at least one row is read.
    let newest = statement::newest(app, users, first.max(1), Which::Unread).await?;
    let mut unread: HashMap<UserId, Unread> = HashMap::with_capacity(users.len());
    for of in newest {
        let Listed { user_id, row, visit } = of.listed;
        let unread = unread.entry(user_id).or_default();
        unread.total = of.total;
        if unread.views.len() < first {
            unread.views.push(row.seen(Some(user_id), Some(visit))?);
        }
    }
    Ok(unread)
}

//! The state of views for connected users, many at once.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{UserId, ViewId};
use entity::prelude::LIST;

use super::{MemberPosition, UserView, ViewKey, ViewRow, VisitState, queries};
use base::clock::Millis;
use base::error::Result;
use store::Store;

/// The most pairs of a user and a view per statement.
pub const PAIRS: usize = 2000;

/// A view as a user sees it. The user may not be a member.
#[derive(Clone, Debug)]
pub struct ViewState {
    user: UserId,
    row: Arc<ViewRow>,
    /// When the user joined, and how far they have seen it. `None` if they are not a member.
    visit: Option<(Millis, VisitState)>,
}

impl ViewState {
    /// The key of the view.
    pub fn key(&self) -> &ViewKey {
        &self.row.key
    }

    /// `None` if the user is not a member.
    pub fn member_position(&self) -> Option<MemberPosition> {
        self.visit.map(|(joined_at, visit)| MemberPosition {
            joined_at,
            position: self.row.position,
            visited: visit.position,
        })
    }

    /// A non-member sees only the key.
    pub fn to_view(&self) -> Result<UserView> {
        if let Some((_, visit)) = self.visit {
            return self.row.to_view(Some(self.user), Some(visit));
        }
        let (row, key, user) = (self.row.id, self.row.key.clone(), Some(self.user));
        Ok(UserView { row, key, user, unread: 0, last_activity_at: None, last_visited_at: None, latest: None })
    }
}

/// The views that users are members of, with their positions: a range of `view_visit`'s key for each user, and a probe
/// of `view`'s for each of their views.
pub async fn load_positions(
    store: &Store,
    users: &[UserId],
) -> Result<HashMap<UserId, HashMap<ViewId, MemberPosition>>> {
    let mut standings: HashMap<UserId, HashMap<ViewId, MemberPosition>> = HashMap::with_capacity(users.len());
    for of in queries::load_positions(store, users).await? {
        standings.entry(of.user_id).or_default().insert(of.view_id, of.standing);
    }
    Ok(standings)
}

/// The state of each of the views for each of the users. A view that no longer exists is left out.
///
/// One statement per 2,000 pairs, and per 1,000 users: each view's row once, and a probe of `view_visit`'s key per
/// pair. A statement reads one snapshot, so that users never see their own activities as unread.
pub async fn load_states(
    store: &Store,
    views: &[ViewId],
    users: &[UserId],
) -> Result<HashMap<(ViewId, UserId), ViewState>> {
    let mut states = HashMap::with_capacity(views.len() * users.len());
    for users in users.chunks((PAIRS / views.len().max(1)).clamp(1, LIST)) {
        let (mut rows, mut visits) = (HashMap::with_capacity(views.len()), HashMap::new());
        for of in queries::load_views_and_visits(store, views, users).await? {
            if let Some((user, visit)) = of.user_id.zip(of.joined_at.zip(of.visit)) {
                visits.insert((of.row_id, user), visit);
            } else if let Some(row) = of.row {
                rows.insert(row.id, Arc::new(row));
            }
        }
        for (view, row) in &rows {
            let state = |user: &UserId| {
                let visit = visits.get(&(*view, *user)).copied();
                ((*view, *user), ViewState { user: *user, row: row.clone(), visit })
            };
            states.extend(users.iter().map(state));
        }
    }
    Ok(states)
}

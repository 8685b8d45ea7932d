//! How views stand for users at a moment: for those who are connected, many at once.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{UserId, ViewId};
use entity::prelude::LIST;

use super::{Key, Row, Standing, View, Visit, statement};
use crate::app::App;
use crate::clock::Millis;
use crate::error::Result;

/// Pairs of a user and a view that one statement looks for at the most.
pub const PAIRS: usize = 2000;

/// A view as a user sees it, who may not be in it.
#[derive(Clone, Debug)]
pub struct ViewState {
    user: UserId,
    row: Arc<Row>,
    /// Since when they are in it, and how far they have seen it.
    visit: Option<(Millis, Visit)>,
}

impl ViewState {
    /// What the view is called.
    pub fn key(&self) -> &Key {
        &self.row.key
    }

    /// Nothing where the user is not in it.
    pub fn standing(&self) -> Option<Standing> {
        self.visit.map(|(joined_at, visit)| Standing {
            joined_at,
            position: self.row.position,
            visited: visit.position,
        })
    }

    /// Whoever is not in it sees nothing but its key.
    pub fn view(&self) -> Result<View> {
        if let Some((_, visit)) = self.visit {
            return self.row.seen(Some(self.user), Some(visit));
        }
        let (row, key, user) = (self.row.id, self.row.key.clone(), Some(self.user));
        Ok(View { row, key, user, unread: 0, last_activity_at: None, last_visited_at: None, latest: None })
    }
}

/// Which views users are in, and how each stands for them: a range of `view_visit`'s key for each user, and a
/// probe of `view`'s for each of their views.
pub async fn standings(app: &App, users: &[UserId]) -> Result<HashMap<UserId, HashMap<ViewId, Standing>>> {
    let mut standings: HashMap<UserId, HashMap<ViewId, Standing>> = HashMap::with_capacity(users.len());
    for of in statement::standings(app, users).await? {
        standings.entry(of.user_id).or_default().insert(of.view_id, of.standing);
    }
    Ok(standings)
}

/// What users see of views, each of all of these. A view that is not there any more is left out.
///
/// One statement for every 2,000 pairs, and every 1,000 users: the rows of the views once, whoever looks, and a probe of
/// `view_visit`'s key a pair. What it reads is of one moment, so that nobody is shown as unread what they did themselves.
pub async fn states(app: &App, views: &[ViewId], users: &[UserId]) -> Result<HashMap<(ViewId, UserId), ViewState>> {
    let mut states = HashMap::with_capacity(views.len() * users.len());
    for users in users.chunks((PAIRS / views.len().max(1)).clamp(1, LIST)) {
        let (mut rows, mut visits) = (HashMap::with_capacity(views.len()), HashMap::new());
        for of in statement::views_and_visits(app, views, users).await? {
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

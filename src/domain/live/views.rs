//! What changes in the views of a session's user.

use std::sync::Arc;
use std::task::{Context, Poll};

use entity::ids::{UserId, ViewId};

use super::event::{Event, ViewSession};
use super::mailbox::{End, Slots};
use super::rooms::Live;
use super::session::{Session, enter};
use crate::app::App;
use crate::domain::tenant::Tenant;
use crate::domain::view::{self, Key, View, ViewState};
use crate::error::{Error, Result};

/// What a session sees of its user's views.
#[derive(Debug)]
pub struct ViewFeed {
    session: Session,
    slots: Arc<Slots<ViewId, ViewState>>,
}

/// The views of a user whose unread changes from now on, of these keys (at most 200) or of all; also those that they join
/// meanwhile, or leave.
pub async fn views(
    app: &Arc<App>,
    live: &Arc<Live>,
    tenant: &Arc<Tenant>,
    user: UserId,
    keys: Option<Vec<Key>>,
) -> Result<ViewFeed> {
    view::check_keys(keys.as_deref().unwrap_or_default())?;
    // Read before the session joins the room, so that whatever changes in between is found there.
    let seen = view::standings(app, &[user]).await?.remove(&user).unwrap_or_default();
    let slots = Arc::new(Slots::new());
    let keys = keys.map(|keys| keys.into_iter().collect());
    let session = enter(app, live, tenant, user, |number| {
        let session = ViewSession { number, keys, slots: slots.clone() };
        Event::JoinViews { user, session, seen }
    });
    Ok(ViewFeed { session, slots })
}

impl ViewFeed {
    /// Whose views they are.
    pub fn user(&self) -> UserId {
        self.session.user
    }

    /// The next view that changed, as it is now. What changes while nobody asks is merged, a view at a time.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<View>> {
        self.slots.poll_take(cx).map(|changed| match changed {
            Ok(state) => state.view(),
            Err(End::Lost) => Err(End::lost()),
            Err(_) => Err(Error::not_found("user", "of this session")),
        })
    }
}

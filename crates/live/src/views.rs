//! A session's feed of changes in its user's views.

use std::sync::Arc;
use std::task::{Context, Poll};

use entity::ids::{UserId, ViewId};

use super::event::{RoomEvent, ViewSession};
use super::mailbox::{LatestSlots, SessionEnd};
use super::rooms::LiveRooms;
use super::session::{RoomSession, join_room_with};
use base::error::{Error, Result};
use domain::tenant::Tenant;
use domain::view::{self, UserView, ViewKey, ViewState};
use store::Store;

/// The changed views that a session receives.
#[derive(Debug)]
pub struct ViewFeed {
    session: RoomSession,
    slots: Arc<LatestSlots<ViewId, ViewState>>,
}

/// The views of a user, sent when their unread count changes: those with these keys (at most 200), or all. Includes
/// views that the user joins or leaves later.
pub async fn subscribe_views(
    store: &Arc<Store>,
    live: &Arc<LiveRooms>,
    tenant: &Arc<Tenant>,
    user: UserId,
    keys: Option<Vec<ViewKey>>,
) -> Result<ViewFeed> {
    view::check_keys(keys.as_deref().unwrap_or_default())?;
    // Read before the session joins the room, so that the room finds every change after this.
    let seen = view::load_positions(store, &[user]).await?.remove(&user).unwrap_or_default();
    let slots = Arc::new(LatestSlots::new());
    let keys = keys.map(|keys| keys.into_iter().collect());
    let session = join_room_with(store, live, tenant, user, |number| {
        let session = ViewSession { number, keys, slots: slots.clone() };
        RoomEvent::JoinViews { user, session, seen }
    });
    Ok(ViewFeed { session, slots })
}

impl ViewFeed {
    /// The user of this feed.
    pub fn user_id(&self) -> UserId {
        self.session.user
    }

    /// The next changed view, in its current state. Changes that the session has not taken yet are merged per view.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<UserView>> {
        self.slots.poll_take(cx).map(|changed| match changed {
            Ok(state) => state.to_view(),
            Err(SessionEnd::Lost) => Err(SessionEnd::lost_error()),
            Err(_) => Err(Error::not_found("user", "of this session")),
        })
    }
}

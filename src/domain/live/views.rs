//! A session's feed of changes in its user's views.

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

/// The changed views that a session receives.
#[derive(Debug)]
pub struct ViewFeed {
    session: Session,
    slots: Arc<Slots<ViewId, ViewState>>,
}

/// The views of a user, sent when their unread count changes: those with these keys (at most 200), or all. Includes
/// views that the user joins or leaves later.
pub async fn views(
    app: &Arc<App>,
    live: &Arc<Live>,
    tenant: &Arc<Tenant>,
    user: UserId,
    keys: Option<Vec<Key>>,
) -> Result<ViewFeed> {
    view::check_keys(keys.as_deref().unwrap_or_default())?;
    // Read before the session joins the room, so that the room finds every change after this.
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
    /// The user of this feed.
    pub fn user(&self) -> UserId {
        self.session.user
    }

    /// The next changed view, in its current state. Changes that the session has not taken yet are merged per view.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<View>> {
        self.slots.poll_take(cx).map(|changed| match changed {
            Ok(state) => state.view(),
            Err(End::Lost) => Err(End::lost()),
            Err(_) => Err(Error::not_found("user", "of this session")),
        })
    }
}

//! What changes in the views of a session's user.

use std::sync::Arc;

use entity::ids::{UserId, ViewId};

use super::event::{Event, Reader};
use super::mailbox::{End, Pile};
use super::rooms::Live;
use super::seat::{Seat, enter};
use crate::app::App;
use crate::domain::tenant::Tenant;
use crate::domain::view::{self, Key, Sight, View};
use crate::error::{Error, Result};

/// What a session sees of its user's views.
#[derive(Debug)]
pub struct Lookout {
    _seat: Seat,
    pile: Arc<Pile<ViewId, Sight>>,
}

/// The views of a user whose unread changes from now on, of these keys (at most 200) or of all; also those that they join
/// meanwhile, or leave.
pub async fn views(
    app: &Arc<App>,
    live: &Arc<Live>,
    tenant: &Arc<Tenant>,
    user: UserId,
    keys: Option<Vec<Key>>,
) -> Result<Lookout> {
    view::check_keys(keys.as_deref().unwrap_or_default())?;
    // Read before the session has its place in the room, so that whatever changes in between is found there.
    let seen = view::unseen_by(app, &[user]).await?.remove(&user).unwrap_or_default();
    let pile = Arc::new(Pile::new());
    let keys = keys.map(|keys| keys.into_iter().collect());
    let seat = enter(app, live, tenant, user, |session| {
        let reader = Reader { session, keys, pile: pile.clone() };
        Event::Attend { user, reader, seen }
    });
    Ok(Lookout { _seat: seat, pile })
}

impl Lookout {
    /// The next view that changed, as it is now. What changes while nobody asks is merged, a view at a time.
    pub async fn next(&mut self) -> Result<View> {
        match self.pile.take().await {
            Ok(sight) => sight.view(),
            Err(End::Lost) => Err(End::lost()),
            Err(_) => Err(Error::not_found("user", "of this session")),
        }
    }
}

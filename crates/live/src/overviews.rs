//! A session's feed of overviews: the current one at once, and then one after every change.

use std::sync::Arc;
use std::task::{Context, Poll};

use entity::ids::{Seq, UserId};

use super::event::SessionKind;
use super::mailbox::LatestSlot;
use super::rooms::LiveRooms;
use super::session::{RoomSession, join_room};
use base::error::Result;
use domain::overview::{OverviewRequest, UserOverview, check_wish};
use domain::tenant::Tenant;
use store::Store;

/// The overviews that a session receives.
#[derive(Debug)]
pub struct OverviewFeed {
    session: RoomSession,
    slot: Arc<LatestSlot<Result<Arc<UserOverview>>>>,
}

/// The overview of a user, now and after each change. Refuses a wish that no overview can fulfil.
pub async fn subscribe_overviews(
    store: &Arc<Store>,
    live: &Arc<LiveRooms>,
    tenant: &Arc<Tenant>,
    user: UserId,
    wish: OverviewRequest,
) -> Result<OverviewFeed> {
    check_wish(store, tenant, &wish).await?;
    let slot = Arc::new(LatestSlot::new());
    let want = SessionKind::Overviews { wish, slot: slot.clone() };
    Ok(OverviewFeed { session: join_room(store, live, tenant, user, Seq(i64::MAX), want), slot })
}

impl OverviewFeed {
    /// The user of this feed.
    pub fn user_id(&self) -> UserId {
        self.session.user
    }

    /// The overview, at once the first time and then whenever it changes. It may name another user with an equal
    /// overview. After an error the feed is over.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Arc<UserOverview>>> {
        self.slot.poll_take(cx)
    }
}

//! A session's feed of overviews: the current one at once, and then one after every change.

use std::sync::Arc;
use std::task::{Context, Poll};

use entity::ids::{Seq, UserId};

use super::event::Want;
use super::mailbox::Slot;
use super::rooms::Live;
use super::session::{Session, join};
use crate::app::App;
use crate::domain::overview::{Overview, Wish, check};
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// The overviews that a session receives.
#[derive(Debug)]
pub struct OverviewFeed {
    session: Session,
    slot: Arc<Slot<Result<Arc<Overview>>>>,
}

/// The overview of a user, now and after each change. Refuses a wish that no overview can fulfil.
pub async fn overviews(
    app: &Arc<App>,
    live: &Arc<Live>,
    tenant: &Arc<Tenant>,
    user: UserId,
    wish: Wish,
) -> Result<OverviewFeed> {
    check(app, tenant, &wish).await?;
    let slot = Arc::new(Slot::new());
    let want = Want::Overviews { wish, slot: slot.clone() };
    Ok(OverviewFeed { session: join(app, live, tenant, user, Seq(i64::MAX), want), slot })
}

impl OverviewFeed {
    /// The user of this feed.
    pub fn user(&self) -> UserId {
        self.session.user
    }

    /// The overview, at once the first time and then whenever it changes. It may name another user with an equal
    /// overview. After an error the feed is over.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Arc<Overview>>> {
        self.slot.poll_take(cx)
    }
}

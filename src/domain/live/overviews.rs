//! The overview of a session: at once, and after every change of it.

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

/// What a session sees of its overview.
#[derive(Debug)]
pub struct OverviewFeed {
    session: Session,
    slot: Arc<Slot<Result<Arc<Overview>>>>,
}

/// The overview of a user as it is and as it becomes. Refuses a wish that cannot be fulfilled.
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
    /// Whose overview it is.
    pub fn user(&self) -> UserId {
        self.session.user
    }

    /// The overview, the first time at once and then as soon as it is another; in it may be another user who sees the same. After an
    /// error there is nothing more.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Arc<Overview>>> {
        self.slot.poll_take(cx)
    }
}

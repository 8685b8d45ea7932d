//! A session's feed of items: every new item of a user, in order, exactly once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use entity::ids::{Seq, TypeId, UserId};
use tracing::Instrument;

use super::event::SessionKind;
use super::mailbox::{Mailbox, SessionEnd};
use super::new_items::{NewItemsRange, load_new_items};
use super::resume::{self, MissedRange, NEAR};
use super::rooms::LiveRooms;
use super::session::{RoomSession, join_room};
use base::error::{Error, Result};
use domain::catalogue;
use domain::inbox::UserItem;
use domain::tenant::Tenant;
use store::Store;

/// Items that a session reads at once while it catches up.
const PAGE: usize = 200;

/// First replays the items after the cursor from the database, then hands out those that the room sends. The room sends
/// all items after the end of the replay, also those from before the session joined, so none is lost in between.
#[derive(Debug)]
pub struct ItemFeed {
    session: RoomSession,
    tenant: Arc<Tenant>,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<UserItem>>,
    /// Everything up to here was handed out.
    at: Seq,
    /// Where the replay has read to. It takes effect once `ready` is empty, even if items before it are missing.
    at_least: Seq,
    /// The end of the replay. `None` once it is over.
    replay_to: Option<Seq>,
    ready: VecDeque<UserItem>,
    /// Pages of missed items that were read, and the items in them, since the last `take_read_counts`.
    read: (u32, u32),
}

/// The items of a user after `after`, or from now on; of these types, or of all.
///
/// `BAD_USER_INPUT` for a cursor before the retention window or beyond the end of the log, since later items may be
/// gone; and for one in a part of the log that a failover lost, since the client then shows items that no longer exist.
pub async fn subscribe_items(
    store: &Arc<Store>,
    live: &Arc<LiveRooms>,
    tenant: &Arc<Tenant>,
    user: UserId,
    after: Option<Seq>,
    types: Option<Vec<String>>,
) -> Result<ItemFeed> {
    let types = match types {
        Some(codes) => {
            let types = catalogue::load_current(store, tenant).await?.select_types("types", Some(&codes))?;
            Some(types.iter().map(|kind| kind.id).collect::<Vec<TypeId>>())
        }
        None => None,
    };
    let place = resume::find_resume_point(store, tenant, user).await?;
    let is_lost = |after| store.gaps.read().contains(tenant.id, after);
    if after.is_some_and(|after| after < place.oldest || after > place.end || is_lost(after)) {
        let message = "is outside the retained log: get a new one from `overview.cursor`";
        return Err(Error::bad_input("after", message));
    }
    let mailbox = Arc::new(Mailbox::new());
    let want = SessionKind::Items { types: types.clone(), mailbox: mailbox.clone() };
    let session = join_room(store, live, tenant, user, place.end, want);
    Ok(ItemFeed {
        session,
        tenant: tenant.clone(),
        types,
        mailbox,
        at: after.unwrap_or(place.end),
        at_least: Seq(0),
        replay_to: Some(place.end),
        ready: VecDeque::new(),
        read: (0, 0),
    })
}

impl ItemFeed {
    /// The user of this feed.
    pub fn user_id(&self) -> UserId {
        self.session.user
    }

    /// How many pages of missed items were read since the last call, and how many items.
    pub fn take_read_counts(&mut self) -> (usize, usize) {
        let (parts, items) = std::mem::take(&mut self.read);
        (parts as usize, items as usize)
    }

    /// Whether missed items must be read before the next item can be polled.
    pub fn is_behind(&self) -> bool {
        self.ready.is_empty() && self.replay_to.is_some()
    }

    /// Reads missed items until some are ready or the replay is over.
    pub async fn catch_up(&mut self) -> Result<()> {
        let span = self.session.span.clone();
        let catching_up = async {
            while self.ready.is_empty()
                && let Some(end) = self.replay_to
            {
                self.at = self.at.max(self.at_least);
                self.replay_page(end).await?;
            }
            Ok(())
        };
        catching_up.instrument(span).await
    }

    /// The next item, once there is one. Call it only if the feed is not behind. After an error the feed is over.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Result<UserItem>> {
        loop {
            let next = match self.ready.pop_front() {
                Some(item) => Ok(item),
                None => ready!(self.mailbox.poll_take(cx)),
            };
            match next {
                Ok(item) if item.seq > self.at => {
                    self.at = item.seq;
                    return Poll::Ready(Ok(item));
                }
                Ok(_) => {}
                Err(SessionEnd::Gone) => return Poll::Ready(Err(Error::not_found("user", "of this session"))),
                Err(SessionEnd::Lost) => return Poll::Ready(Err(SessionEnd::lost_error())),
                Err(SessionEnd::TooSlow) => {
                    let message =
                        "the client reads too slowly: subscribe again with `after` set to the cursor of its last item";
                    return Poll::Ready(Err(Error::Unavailable(message.into())));
                }
            }
        }
    }

    /// Reads the next page of missed items. The last one is read in a batch with other sessions.
    async fn replay_page(&mut self, end: Seq) -> Result<()> {
        let (store, tenant, user) = (&self.session.store, &self.tenant, self.session.user);
        let mut more_after = None;
        if end.0 - self.at.0 > NEAR {
            let span = NewItemsRange { after: self.at, upto: end, types: self.types.as_deref(), limit: Some(PAGE) };
            let page = load_new_items(store, tenant, &[user], span).await?;
            (self.ready, more_after) = (page.items.into(), page.more_after);
            count_page(&mut self.read, self.ready.len());
        } else if self.at < end {
            let missed = MissedRange { user, after: self.at, upto: end };
            let mut items = resume::load_missed(store, tenant, missed).await?;
            let count = items.len();
            let is_wanted =
                |item: &UserItem| self.types.as_ref().is_none_or(|of| of.contains(&item.content.message_type.id));
            items.retain(is_wanted);
            self.ready = items.into();
            count_page(&mut self.read, count);
        }
        self.at_least = more_after.unwrap_or_default();
        if more_after.is_none() {
            let is_live = self.mailbox.go_live();
            self.replay_to =
                if is_live { None } else { Some(resume::find_resume_point(store, tenant, user).await?.end) };
        }
        Ok(())
    }
}

/// Counts one more page with this many items.
fn count_page((parts, items): &mut (u32, u32), count: usize) {
    *parts += 1;
    *items += u32::try_from(count).unwrap_or(u32::MAX);
}

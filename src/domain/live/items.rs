//! The feed of a session: every new item of a user, in order, each once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use entity::ids::{Seq, TypeId, UserId};
use tracing::Instrument;

use super::event::Want;
use super::mailbox::{End, Mailbox};
use super::newer::{Span, newer};
use super::resume::{self, Missed, NEAR};
use super::rooms::Live;
use super::session::{Session, join};
use crate::app::App;
use crate::domain::catalogue;
use crate::domain::inbox::Item;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};

/// Items read at once by a session that catches up.
const PAGE: usize = 200;

/// First everything newer than a cursor, from the database; then what the room hands out. The room tells all that came after
/// where the replay ends, also what came before the session had joined it, so that nothing falls between the two.
#[derive(Debug)]
pub struct ItemFeed {
    session: Session,
    tenant: Arc<Tenant>,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<Item>>,
    /// Everything up to here was given out.
    at: Seq,
    /// Once what is ready was given out, this is where the replay stands, whatever is missing before it.
    at_least: Seq,
    /// The replay goes up to here; nothing once it is over.
    replay_to: Option<Seq>,
    ready: VecDeque<Item>,
    /// Parts of the missed items that were read, and items in them, since `take_read`.
    read: (u32, u32),
}

/// Every item of a user after `after`, or from now on, of these types or of all.
///
/// A place that lies before the retention window, or that the log does not have, is refused: what came after it may be
/// gone. So is a cursor into what a failover lost: its client shows items that are gone.
pub async fn items(
    app: &Arc<App>,
    live: &Arc<Live>,
    tenant: &Arc<Tenant>,
    user: UserId,
    after: Option<Seq>,
    types: Option<Vec<String>>,
) -> Result<ItemFeed> {
    let types = match types {
        Some(codes) => {
            let types = catalogue::current(app, tenant).await?.chosen("types", Some(&codes))?;
            Some(types.iter().map(|kind| kind.id).collect::<Vec<TypeId>>())
        }
        None => None,
    };
    let place = resume::place(app, tenant, user).await?;
    let is_lost = |after| app.gaps.read().have(tenant.id, after);
    if after.is_some_and(|after| after < place.oldest || after > place.end || is_lost(after)) {
        let message = "lies outside of what is kept: start from the cursor of a fresh overview";
        return Err(Error::bad_input("after", message));
    }
    let mailbox = Arc::new(Mailbox::new());
    let want = Want::Items { types: types.clone(), mailbox: mailbox.clone() };
    let session = join(app, live, tenant, user, place.end, want);
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
    /// Whose items they are.
    pub fn user(&self) -> UserId {
        self.session.user
    }

    /// How many parts of what was missed were read since this was asked the last time, and how many items.
    pub fn take_read(&mut self) -> (usize, usize) {
        let (parts, items) = std::mem::take(&mut self.read);
        (parts as usize, items as usize)
    }

    /// Whether more of what was missed is to be read before the next item is asked for.
    pub fn is_behind(&self) -> bool {
        self.ready.is_empty() && self.replay_to.is_some()
    }

    /// Reads on in what was missed, until there is something of it, or it was all given out.
    pub async fn catch_up(&mut self) -> Result<()> {
        let span = self.session.span.clone();
        let catching_up = async {
            while self.ready.is_empty()
                && let Some(end) = self.replay_to
            {
                self.at = self.at.max(self.at_least);
                self.replay(end).await?;
            }
            Ok(())
        };
        catching_up.instrument(span).await
    }

    /// The next item, as soon as there is one, for whoever is not behind. After an error there is nothing more.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Result<Item>> {
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
                Err(End::Gone) => return Poll::Ready(Err(Error::not_found("user", "of this session"))),
                Err(End::Lost) => return Poll::Ready(Err(End::lost())),
                Err(End::TooSlow) => {
                    let message = "the client reads too slowly: subscribe again, after the cursor of its last item";
                    return Poll::Ready(Err(Error::Unavailable(message.into())));
                }
            }
        }
    }

    /// Reads a part of what was missed; the last of it together with other sessions.
    async fn replay(&mut self, end: Seq) -> Result<()> {
        let (app, tenant, user) = (&self.session.app, &self.tenant, self.session.user);
        let mut more_after = None;
        if end.0 - self.at.0 > NEAR {
            let span = Span { after: self.at, upto: end, types: self.types.as_deref(), limit: Some(PAGE) };
            let page = newer(app, tenant, &[user], span).await?;
            (self.ready, more_after) = (page.items.into(), page.more_after);
            note(&mut self.read, self.ready.len());
        } else if self.at < end {
            let missed = Missed { user, after: self.at, upto: end };
            let mut items = resume::missed(app, tenant, missed).await?;
            let count = items.len();
            let is_wanted =
                |item: &Item| self.types.as_ref().is_none_or(|of| of.contains(&item.content.message_type.id));
            items.retain(is_wanted);
            self.ready = items.into();
            note(&mut self.read, count);
        }
        self.at_least = more_after.unwrap_or_default();
        if more_after.is_none() {
            let is_live = self.mailbox.go_live();
            self.replay_to = if is_live { None } else { Some(resume::place(app, tenant, user).await?.end) };
        }
        Ok(())
    }
}

/// Notes a part of what was missed, with so many items.
fn note((parts, items): &mut (u32, u32), count: usize) {
    *parts += 1;
    *items += u32::try_from(count).unwrap_or(u32::MAX);
}

//! The feed of a session: every new item of a user, in order, each once.

use std::collections::VecDeque;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};

use super::mailbox::{End, Mailbox};
use super::newer::{Span, newer};
use super::{Seat, Want, join};
use crate::app::App;
use crate::domain::catalogue;
use crate::domain::inbox::{Item, standing};
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::{Error, Result};

/// Items read at once by a session that catches up.
const PAGE: usize = 200;

/// First everything newer than a cursor, from the database; then what the room hands out. The session has its place in
/// the room before it begins to read, so that nothing falls between the two, and what comes twice is told by its seq.
#[derive(Debug)]
pub struct Feed {
    seat: Seat,
    tenant: Arc<Tenant>,
    types: Option<Vec<TypeId>>,
    mailbox: Arc<Mailbox<Item>>,
    /// Everything up to here was given out.
    at: Seq,
    /// The replay goes up to here; nothing once it is over.
    replay_to: Option<Seq>,
    ready: VecDeque<Item>,
}

/// Every item of a user after `after`, or from now on, of these types or of all.
///
/// A place that lies before the retention window, or that the log does not have, is refused: what came after it may be
/// gone.
pub async fn items(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    user: UserId,
    after: Option<Seq>,
    types: Option<Vec<String>>,
) -> Result<Feed> {
    let types = match types {
        Some(codes) => Some(type_ids(app, tenant, &codes).await?),
        None => None,
    };
    let now = standing::up_to_now(app, tenant, user).await?;
    if let Some(after) = after {
        let oldest = user::before(&app.db.read, tenant, app.now() - app.config.retention_millis()).await?;
        if after.0 < oldest || after > now {
            let message = "lies outside of what is kept: start from the cursor of a fresh overview";
            return Err(Error::bad_input("after", message));
        }
    }
    let mailbox = Arc::new(Mailbox::new());
    let want = Want::Items { types: types.clone(), mailbox: mailbox.clone() };
    let seat = join(app, tenant, user, now, want);
    // Read again now that nothing can be missed any more.
    let replay_to = Some(standing::up_to_now(app, tenant, user).await?);
    Ok(Feed {
        seat,
        tenant: tenant.clone(),
        types,
        mailbox,
        at: after.unwrap_or(now),
        replay_to,
        ready: VecDeque::new(),
    })
}

async fn type_ids(app: &App, tenant: &Tenant, codes: &[String]) -> Result<Vec<TypeId>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let id = |code: &String| {
        let kind = catalogue.message_type(code).map(|kind| kind.id);
        kind.ok_or_else(|| Error::bad_input("types", format!("no message type {code:?}")))
    };
    codes.iter().map(id).collect()
}

impl Feed {
    /// The next item, as soon as there is one. After an error there is nothing more.
    pub async fn next(&mut self) -> Result<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.at = item.seq;
                return Ok(item);
            }
            if let Some(end) = self.replay_to {
                // Boxed, so that a session that has caught up does not keep room for it.
                Box::pin(self.replay(end)).await?;
                continue;
            }
            match self.mailbox.take().await {
                Ok(item) if item.seq > self.at => self.ready.push_back(item),
                Ok(_) => {}
                Err(End::Gone) => return Err(Error::not_found("user", "of this session")),
                Err(End::TooSlow) => {
                    let message = "the client reads too slowly: subscribe again, after the cursor of its last item";
                    return Err(Error::Unavailable(message.into()));
                }
            }
        }
    }

    async fn replay(&mut self, end: Seq) -> Result<()> {
        let app = &self.seat.app;
        let span = Span { after: self.at, upto: end, types: self.types.as_deref(), limit: Some(PAGE) };
        self.ready = newer(app, &self.tenant, &[self.seat.user], span).await?.into();
        if self.ready.len() < PAGE {
            let is_live = self.mailbox.go_live();
            self.replay_to =
                if is_live { None } else { Some(standing::up_to_now(app, &self.tenant, self.seat.user).await?) };
        }
        Ok(())
    }
}

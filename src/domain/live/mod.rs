//! Live sessions: what is new reaches whoever is connected, without a statement a session.
//!
//! Each tenant with somebody connected has a *room*, one task that hears the notices of the hub and knows who listens
//! to which channel. It syncs all the inboxes that a notice concerns together, reads what is new in them together, and
//! hands each session its own.

mod audience;
mod contents;
mod items;
mod listened;
mod looks;
mod mailbox;
mod members;
mod newer;
mod overviews;
mod resume;
mod room;
mod touched;
mod viewer;
mod views;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use entity::ids::{Seq, TenantId, TypeId, UserId, ViewId};
use entity::prelude::*;
use entity::{notification, tenant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::overview::{Overview, Wish};
use super::tenant::Tenant;
use super::view::Unseen;
use crate::app::App;
use crate::clock::Millis;
use crate::domain::inbox::Item;
use crate::error::Result;
use audience::Reader;
use mailbox::{Mailbox, Slot};
use room::Room;

pub use items::{Feed, items};
pub use overviews::{Watch, overviews};
pub use views::{Lookout, views};

/// The rooms of this process.
#[derive(Debug, Default)]
pub struct Live {
    rooms: Mutex<HashMap<TenantId, UnboundedSender<Event>>>,
    sessions: AtomicU64,
    /// What expired up to this instant was noticed.
    expired_upto: AtomicI64,
}

/// What a room is told by others than the hub.
#[derive(Debug)]
enum Event {
    Join {
        user: UserId,
        session: u64,
        from: Seq,
        want: Want,
    },
    /// For what changes in views, all of which the user had seen so far.
    Attend {
        user: UserId,
        reader: Reader,
        seen: HashMap<ViewId, Unseen>,
    },
    Leave {
        user: UserId,
        session: u64,
    },
    Head {
        last_seq: Seq,
        catalogue_version: i64,
    },
    /// What has expired up to an instant.
    Expired {
        seqs: Vec<Seq>,
        upto: Millis,
    },
}

/// What a session is there for.
#[derive(Debug)]
enum Want {
    /// New items of these types, or of all.
    Items { types: Option<Vec<TypeId>>, mailbox: Arc<Mailbox<Item>> },
    /// The overview whenever it is another.
    Overviews { wish: Wish, slot: Arc<Slot<Result<Arc<Overview>>>> },
}

/// A session's place in its room, which is free again when this is dropped.
#[derive(Debug)]
struct Seat {
    app: Arc<App>,
    room: UnboundedSender<Event>,
    user: UserId,
    session: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.app.metrics.subscriptions.dec();
        let _ = self.room.send(Event::Leave { user: self.user, session: self.session });
    }
}

/// Enters the tenant's room, which opens if nobody is in it. The inbox was complete up to `from`, and what comes after
/// that will be told.
fn join(app: &Arc<App>, tenant: &Arc<Tenant>, user: UserId, from: Seq, want: Want) -> Seat {
    enter(app, tenant, user, |session| Event::Join { user, session, from, want })
}

fn enter(app: &Arc<App>, tenant: &Arc<Tenant>, user: UserId, event: impl FnOnce(u64) -> Event) -> Seat {
    let session = app.live.sessions.fetch_add(1, Ordering::Relaxed);
    let mut rooms = app.live.rooms.lock().unwrap_or_else(PoisonError::into_inner);
    let room = rooms.entry(tenant.id).or_insert_with(|| {
        let (events, inbox) = unbounded_channel();
        tokio::spawn(Room::new(app.clone(), tenant.clone(), inbox).run());
        events
    });
    // The room takes itself out of the map under the same lock before it stops receiving, also where it panics.
    let _ = room.send(event(session));
    app.metrics.subscriptions.inc();
    Seat { app: app.clone(), room: room.clone(), user, session }
}

impl Live {
    /// Tells a tenant's room, if it is open.
    fn tell(&self, tenant: TenantId, event: Event) {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&tenant) {
            let _ = room.send(event);
        }
    }
}

/// Looks at what nobody tells: the end of the log and the version of the catalogue of every tenant with somebody connected,
/// should the hub have missed something, and what has expired since the last look. Two statements for a thousand tenants.
pub async fn look(app: &App) -> Result<()> {
    let now = app.now();
    let tenants: Vec<TenantId> =
        app.live.rooms.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect();
    if tenants.is_empty() {
        app.live.expired_upto.store(now, Ordering::Relaxed);
        return Ok(());
    }
    for tenants in tenants.chunks(LIST) {
        look_at(app, tenants, now).await?;
    }
    app.live.expired_upto.store(now, Ordering::Relaxed);
    Ok(())
}

async fn look_at(app: &App, tenants: &[TenantId], now: Millis) -> Result<()> {
    use tenant::Column;
    let db = &app.db.read;
    let heads = tenant::Entity::find().filter(Column::Id.among(db, tenants)).select_only();
    let heads = heads.columns([Column::Id, Column::LastSeq, Column::CatalogueVersion]);
    for (tenant, last_seq, catalogue_version) in heads.into_tuple().all(db).await? {
        app.live.tell(tenant, Event::Head { last_seq, catalogue_version });
    }
    let mut gone: HashMap<TenantId, Vec<Seq>> = HashMap::new();
    for (tenant, seq) in expired(app, tenants, (app.live.expired_upto.load(Ordering::Relaxed), now)).await? {
        gone.entry(tenant).or_default().push(seq);
    }
    for tenant in tenants {
        let seqs = gone.remove(tenant).unwrap_or_default();
        app.live.tell(*tenant, Event::Expired { seqs, upto: now });
    }
    Ok(())
}

/// What expired after an instant and up to another.
async fn expired(app: &App, tenants: &[TenantId], (after, upto): (Millis, Millis)) -> Result<Vec<(TenantId, Seq)>> {
    use notification::Column;
    let expired = notification::Entity::find().filter(Column::ExpiresAt.gt(after)).filter(Column::ExpiresAt.lte(upto));
    let expired = expired.filter(Column::Seq.is_not_null()).filter(Column::TenantId.among(&app.db.read, tenants));
    let expired = expired.select_only().column(Column::TenantId).column(Column::Seq);
    Ok(expired.into_tuple().all(&app.db.read).await?)
}

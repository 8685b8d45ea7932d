//! Events for rooms, and the kinds of sessions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId, ViewId};

use super::mailbox::{Mailbox, Slot, Slots};
use crate::clock::Millis;
use crate::domain::overview::{Overview, Wish};
use crate::domain::tenant::Tenant;
use crate::domain::view::{Key, Standing, ViewState};
use crate::error::Result;
use crate::model::item::Item;

/// An event for a room that does not come from the hub.
#[derive(Debug)]
pub(super) enum Event {
    Join {
        user: UserId,
        session: u64,
        from: Seq,
        want: Want,
    },
    /// A session that receives changes of views. It has read what its user had `seen` of them.
    JoinViews {
        user: UserId,
        session: ViewSession,
        seen: HashMap<ViewId, Standing>,
    },
    Leave {
        user: UserId,
        session: u64,
    },
    Head {
        last_seq: Seq,
        catalogue_version: i64,
    },
    /// Another database took over, or an earlier state of it: the room starts afresh, with this tenant if given.
    Anew {
        tenant: Option<Arc<Tenant>>,
    },
    /// Notifications that expired up to this time.
    Expired {
        seqs: Vec<Seq>,
        upto: Millis,
    },
}

/// What a session subscribed to.
#[derive(Debug)]
pub(super) enum Want {
    /// New items of these types, or of all if `None`.
    Items { types: Option<Vec<TypeId>>, mailbox: Arc<Mailbox<Item>> },
    /// The overview, whenever it changes.
    Overviews { wish: Wish, slot: Arc<Slot<Result<Arc<Overview>>>> },
}

/// A session that receives changes of views.
#[derive(Debug)]
pub(super) struct ViewSession {
    pub number: u64,
    /// Only views with these keys, or all if `None`.
    pub keys: Option<HashSet<Key>>,
    pub slots: Arc<Slots<ViewId, ViewState>>,
}

//! What rooms are told, and what sessions are there for.

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

/// What a room is told by others than the hub.
#[derive(Debug)]
pub(super) enum Event {
    Join {
        user: UserId,
        session: u64,
        from: Seq,
        want: Want,
    },
    /// A session for what changes in views. It knows what its user had `seen` of them.
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
    /// The database is another one than before: the room begins anew, of this tenant where it is said.
    Anew {
        tenant: Option<Arc<Tenant>>,
    },
    /// What has expired up to an instant.
    Expired {
        seqs: Vec<Seq>,
        upto: Millis,
    },
}

/// What a session is there for.
#[derive(Debug)]
pub(super) enum Want {
    /// New items of these types, or of all.
    Items { types: Option<Vec<TypeId>>, mailbox: Arc<Mailbox<Item>> },
    /// The overview whenever it is another.
    Overviews { wish: Wish, slot: Arc<Slot<Result<Arc<Overview>>>> },
}

/// A session that is told of views.
#[derive(Debug)]
pub(super) struct ViewSession {
    pub number: u64,
    /// Only of these, or of all.
    pub keys: Option<HashSet<Key>>,
    pub slots: Arc<Slots<ViewId, ViewState>>,
}

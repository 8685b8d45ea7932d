//! Events for rooms, and the kinds of sessions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId, ViewId};

use super::mailbox::{LatestSlot, LatestSlots, Mailbox};
use base::clock::Millis;
use base::error::Result;
use domain::overview::{OverviewRequest, UserOverview};
use domain::tenant::Tenant;
use domain::view::{MemberPosition, ViewKey, ViewState};
use model::item::UserItem;

/// An event for a room that does not come from the hub.
#[derive(Debug)]
pub(super) enum RoomEvent {
    Join {
        user: UserId,
        session: u64,
        from: Seq,
        want: SessionKind,
    },
    /// A session that receives changes of views. It has read what its user had `seen` of them.
    JoinViews {
        user: UserId,
        session: ViewSession,
        seen: HashMap<ViewId, MemberPosition>,
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
pub(super) enum SessionKind {
    /// New items of these types, or of all if `None`.
    Items { types: Option<Vec<TypeId>>, mailbox: Arc<Mailbox<UserItem>> },
    /// The overview, whenever it changes.
    Overviews { wish: OverviewRequest, slot: Arc<LatestSlot<Result<Arc<UserOverview>>>> },
}

/// A session that receives changes of views.
#[derive(Debug)]
pub(super) struct ViewSession {
    pub number: u64,
    /// Only views with these keys, or all if `None`.
    pub keys: Option<HashSet<ViewKey>>,
    pub slots: Arc<LatestSlots<ViewId, ViewState>>,
}

//! The room of a tenant: one task that receives notices and passes changes on to sessions.
//!
//! It works in steps of bounded size and receives new notices between steps, so a message to one user does not wait for
//! an announcement to all.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use entity::ids::{Seq, UserId};
use futures_util::future::join_all;
use sea_orm::DbBackend;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::changed_items::ChangedItems;
use super::content_interner::ContentInterner;
use super::event::{RoomEvent, SessionKind};
use super::members::RoomMembers;
use super::new_items::{NewItemsRange, load_new_items};
use super::poll::find_expired;
use super::rooms::LiveRooms;
use super::subscriptions::load_channels;
use super::view_members::ViewMembers;
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use domain::inbox::sync;
use domain::overview::{self, OverviewRequest};
use domain::tenant::Tenant;
use domain::view;
use store::Store;

/// Users per step: as many as one sync transaction takes.
const USERS: usize = 500;

/// How long overviews wait at most while there are items to hand out, which go first.
const ITEMS_FIRST: Duration = Duration::from_secs(1);

/// How long a notice may travel. After that, missing log entries count as a lost notice.
const NOTICE_TRAVELS: Duration = Duration::from_millis(100);

/// The pause after a database failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Batches of overviews that are read concurrently. Each takes a connection.
const PARTS: usize = 4;

/// The room of a tenant and the state of its sessions.
pub(super) struct Room {
    store: Arc<Store>,
    live: Arc<LiveRooms>,
    tenant: Arc<Tenant>,
    events: UnboundedReceiver<RoomEvent>,
    notices: UnboundedReceiver<Arc<Notice>>,
    members: RoomMembers,
    view_members: ViewMembers,
    contents: ContentInterner,
    /// Notices for all entries up to here have arrived. `None` until the first poll of the log's end.
    heard: Option<Seq>,
    /// Ranges of entries heard beyond `heard`: the first seq and the last.
    ahead: BTreeMap<Seq, Seq>,
    /// The log's end at the last poll. A smaller one at the next poll means that the database was restored.
    end_seen: Seq,
    /// The log's end at a poll, and when its notices count as lost.
    missing: Option<(Seq, Instant)>,
    catalogue_version: i64,
    touched: ChangedItems,
    /// Items that expired up to here are in `changed_items`.
    expired_upto: Millis,
    /// No step runs before this time.
    paused_until: Option<Instant>,
    /// When overviews were last sent, or when none was waiting.
    shown_at: Instant,
}

impl Room {
    pub fn new(
        store: Arc<Store>,
        live: Arc<LiveRooms>,
        tenant: Arc<Tenant>,
        events: UnboundedReceiver<RoomEvent>,
    ) -> Self {
        let notices = store.hub.listen(tenant.id);
        let expired_upto = store.now();
        Self {
            store,
            live,
            tenant,
            events,
            notices,
            members: RoomMembers::default(),
            view_members: ViewMembers::default(),
            contents: ContentInterner::default(),
            heard: None,
            ahead: BTreeMap::new(),
            end_seen: Seq(0),
            missing: None,
            catalogue_version: 0,
            touched: ChangedItems::default(),
            expired_upto,
            paused_until: None,
            shown_at: Instant::now(),
        }
    }

    /// Runs until the room is empty.
    pub async fn run(mut self) {
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.handle_event(event);
            }
            while let Ok(notice) = self.notices.try_recv() {
                self.handle_notice(&notice);
            }
            if self.members.is_empty() && self.view_members.is_empty() && self.try_close() {
                return;
            }
            self.check_lost_notices();
            let is_paused = self.paused_until.is_some_and(|until| until > Instant::now());
            let now = Instant::now();
            let has_read = self.view_members.next_read_at(now).is_some_and(|at| at <= now);
            if !is_paused && (!self.touched.is_empty() || self.members.has_work(now) || has_read) {
                if let Err(error) = self.run_step().await {
                    tracing::warn!(cause = error.log_message(), "could not update live sessions, which are now late");
                    self.paused_until = Some(Instant::now() + AFTER_FAILURE);
                }
                continue;
            }
            let wake = self.next_wake_at();
            tokio::select! {
                Some(event) = self.events.recv() => self.handle_event(event),
                Some(notice) = self.notices.recv() => self.handle_notice(&notice),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
    }

    /// Removes the room from the map, unless a session is about to join.
    fn try_close(&mut self) -> bool {
        let mut rooms = self.live.rooms.lock();
        if !self.events.is_empty() {
            return false;
        }
        rooms.remove(&self.tenant.id);
        self.store.hub.remove_listener(self.tenant.id);
        true
    }

    /// The earliest time with work to do if no event arrives before.
    fn next_wake_at(&self) -> Option<Instant> {
        let now = Instant::now();
        let read = self.view_members.next_read_at(now);
        let has_work = !self.touched.is_empty() || self.members.has_any_work() || read.is_some();
        let next = [self.members.next_overview_at(now), self.members.next_retry_at(), read].into_iter().flatten().min();
        let work = next.max(self.paused_until.filter(|_| has_work));
        let missing = self.missing.map(|(_, at)| at);
        match (work, missing) {
            (Some(work), Some(missing)) => Some(work.min(missing)),
            (work, missing) => work.or(missing),
        }
    }

    fn handle_event(&mut self, event: RoomEvent) {
        match event {
            RoomEvent::Join { user, session, from, want } => {
                if matches!(&want, SessionKind::Overviews { wish, .. } if wish.views.is_some()) {
                    self.view_members.join_overview(user, session);
                }
                self.members.join(user, session, from, want);
            }
            RoomEvent::JoinViews { user, session, seen } => self.view_members.join(user, session, seen),
            RoomEvent::Leave { user, session } => {
                self.members.leave(user, session);
                self.view_members.leave(user, session);
            }
            RoomEvent::Anew { tenant: Some(tenant) } if self.tenant.era == tenant.era => {}
            RoomEvent::Anew { tenant } => {
                self.tenant = tenant.unwrap_or_else(|| self.tenant.clone());
                self.reset_state();
            }
            RoomEvent::Expired { seqs, upto } => {
                self.touched.add_seqs(&seqs);
                self.expired_upto = self.expired_upto.max(upto);
            }
            RoomEvent::Head { last_seq, catalogue_version } => {
                if last_seq < std::mem::replace(&mut self.end_seen, last_seq) {
                    tracing::warn!("the log is shorter than before: the database was restored");
                    self.end_sessions();
                    self.reset_state();
                    self.end_seen = last_seq;
                }
                self.tenant.observe_log_end(last_seq);
                self.view_members.mark_stale_shard();
                if self.members.mark_stale_shard() {
                    self.members.remove_unused();
                    self.contents.remove_unused();
                }
                if std::mem::replace(&mut self.catalogue_version, catalogue_version) != catalogue_version {
                    self.members.mark_all_changed();
                }
                match self.heard {
                    None => {
                        self.members.mark_all_new_items();
                        self.heard = Some(last_seq);
                    }
                    Some(heard) if heard < last_seq && self.missing.is_none() => {
                        self.missing = Some((last_seq, Instant::now() + NOTICE_TRAVELS));
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Ends all sessions and forgets the state of the log.
    fn reset_state(&mut self) {
        (self.heard, self.missing, self.end_seen) = (None, None, Seq(0));
        self.ahead.clear();
        self.touched = ChangedItems::default();
        self.contents = ContentInterner::default();
        self.members.end_sessions();
        self.view_members.end_sessions();
    }

    fn handle_notice(&mut self, notice: &Notice) {
        for &(first, last) in &notice.seqs {
            self.ahead.insert(first, last);
        }
        if let Some(heard) = &mut self.heard {
            while let Some(entry) = self.ahead.first_entry()
                && entry.key().0 <= heard.0 + 1
            {
                *heard = (*heard).max(entry.remove());
            }
        }
        // An erased user may be the sender of items that are shown.
        if notice.everybody || notice.doubtful || !notice.erased.is_empty() {
            self.members.mark_all_stale();
        }
        if notice.everybody || notice.channels.contains(&self.tenant.everyone) {
            self.members.mark_all_new_items();
        }
        self.view_members.handle_notice(notice);
        for &channel in &notice.channels {
            self.members.mark_channel_new_items(channel);
        }
        for &user in &notice.users {
            self.members.mark_new_items(user);
        }
        for &user in &notice.changed {
            self.members.mark_changed(user);
        }
        self.touched.add_seqs(&notice.items);
        for &user in &notice.erased {
            self.members.remove_erased(user);
            self.view_members.remove_erased(user);
        }
        for &user in &notice.listeners {
            self.members.mark_channels_stale(user);
        }
    }

    /// If notices of a part of the log are lost, checks all users for new items.
    fn check_lost_notices(&mut self) {
        let Some((end, at)) = self.missing else { return };
        if self.heard >= Some(end) {
            self.missing = None;
        } else if at <= Instant::now() {
            self.missing = None;
            self.heard = Some(end);
            self.ahead = self.ahead.split_off(&Seq(end.0 + 1));
            self.members.mark_all_stale();
            self.members.mark_all_new_items();
        }
    }

    /// Does a part of the pending work. Work that fails stays pending.
    async fn run_step(&mut self) -> Result<()> {
        if !self.members.has_changed_overviews() {
            self.shown_at = Instant::now();
        }
        let unknown = self.members.take_without_channels(USERS);
        if !unknown.is_empty() {
            match load_channels(&self.store, &unknown).await {
                Ok(channels) => self.members.set_channels(&unknown, channels),
                Err(error) => {
                    for user in &unknown {
                        self.members.mark_channels_stale(*user);
                    }
                    return Err(error);
                }
            }
        }
        if self.members.has_new_items() {
            self.collect_expired().await?;
        }
        self.touched.mark_affected_users(&self.store, &mut self.members).await?;
        self.members.queue_retries(Instant::now());
        let users = self.members.take_with_new_items(USERS);
        if !users.is_empty()
            && let Err(error) = self.deliver_items(&users).await
        {
            for user in &users {
                self.members.mark_new_items(*user);
            }
            return Err(error);
        }
        self.view_members.run_step(&self.store, &mut self.members).await?;
        self.members.send_unpaused(&self.store.metrics, Instant::now());
        if !self.members.has_new_items() || self.shown_at.elapsed() > ITEMS_FIRST {
            let overviews = self.read_overviews().await;
            self.read_views().await.and(overviews)?;
            self.shown_at = Instant::now();
        }
        Ok(())
    }

    /// Ends all sessions, also those that are just joining. Their clients then subscribe again, in another room.
    fn end_sessions(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.handle_event(event);
        }
        self.members.end_sessions();
        self.view_members.end_sessions();
    }

    /// Collects what expired since the last check, so that overviews stop counting it.
    async fn collect_expired(&mut self) -> Result<()> {
        let now = self.store.now();
        for (_, seq) in find_expired(&self.store, &[self.tenant.id], (self.expired_upto, now)).await? {
            self.touched.add_seqs(&[seq]);
        }
        self.expired_upto = self.expired_upto.max(now);
        Ok(())
    }

    /// Syncs inboxes and hands new items to sessions. Users with locked rows are served later, so that others do not
    /// wait for those locks.
    async fn deliver_items(&mut self, users: &[UserId]) -> Result<()> {
        let (end, held) = sync::sync_unlocked(&self.store, &self.tenant, users).await?;
        let held: HashSet<UserId> = held.into_iter().collect();
        self.members.record_locked(users, &held, Instant::now());
        let users: Vec<UserId> = users.iter().copied().filter(|user| !held.contains(user)).collect();
        // Without a bus, changes on other nodes arrive without a notice, so items cannot be added to known overviews.
        let counts = self.store.hub.has_bus() || self.store.db.backend() == DbBackend::Sqlite;
        for (after, users) in self.members.group_by_gap(&users, end, counts) {
            let span = NewItemsRange { after, upto: end, types: None, limit: None };
            let mut items = load_new_items(&self.store, &self.tenant, &users, span).await?.items;
            for item in &mut items {
                self.contents.intern(item);
            }
            // A stable sort: the items of each user stay in log order.
            items.sort_by_key(|item| item.user);
            let now = Instant::now();
            for user in users {
                let of_user =
                    items.partition_point(|item| item.user < user)..items.partition_point(|item| item.user <= user);
                self.members.deliver_items(&self.store.metrics, user, &items[of_user], (end, now));
            }
        }
        Ok(())
    }

    /// Reads overviews and sends those that changed.
    async fn read_overviews(&mut self) -> Result<()> {
        let now = Instant::now();
        let parts = self.members.take_changed_overviews(PARTS * USERS, now);
        let parts: Vec<(&OverviewRequest, &[UserId])> =
            parts.iter().flat_map(|(wish, users)| users.chunks(USERS).map(move |users| (wish, users))).collect();
        let read = parts.iter().map(|(wish, users)| overview::load_overviews(&self.store, &self.tenant, users, wish));
        let mut outcome = Ok(());
        for ((wish, users), overviews) in parts.iter().zip(join_all(read).await) {
            match overviews {
                Ok(overviews) => {
                    for mut overview in overviews.into_values() {
                        let latest = overview.types.iter_mut().filter_map(|kind| kind.latest.as_mut());
                        latest.for_each(|item| self.contents.intern(item));
                        self.members.send_overview(&self.store.metrics, wish, overview);
                    }
                }
                // A type that the wish names was deleted.
                Err(Error::BadInput { field, message }) => self.members.end_refused(wish, users, &field, &message),
                Err(error) => {
                    users.iter().for_each(|user| self.members.mark_changed(*user));
                    outcome = Err(error);
                }
            }
        }
        outcome
    }

    /// Reads the views of overviews without other changes.
    async fn read_views(&mut self) -> Result<()> {
        let parts = self.members.take_changed_views(PARTS * USERS, Instant::now());
        let parts: Vec<(usize, &[UserId])> =
            parts.iter().flat_map(|(number, users)| users.chunks(USERS).map(|users| (*number, users))).collect();
        let read = parts.iter().map(|(number, users)| view::load_unread(&self.store, users, *number));
        let mut outcome = Ok(());
        for ((number, users), seen) in parts.iter().zip(join_all(read).await) {
            let mut views = seen.map_err(|error| outcome = Err(error)).ok();
            for &user in *users {
                match &mut views {
                    Some(views) => {
                        let views = views.remove(&user).unwrap_or_default();
                        self.members.send_views(&self.store.metrics, user, *number, &views);
                    }
                    None => self.members.mark_changed(user),
                }
            }
        }
        outcome
    }
}

/// If the task panics, removes the room, so that the next session opens a new one.
impl Drop for Room {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let live = self.live.clone();
            let mut rooms = live.rooms.lock();
            rooms.remove(&self.tenant.id);
            self.store.hub.remove_listener(self.tenant.id);
            self.end_sessions();
        }
    }
}

//! Sync: copies new publications on a user's channels into their inbox, exactly once, up to a log position.
//!
//! A sync locks the user's row, reads the end of the log, inserts everything up to it and moves the cursor there. Seqs
//! follow commit order, so everything up to that end is already visible. Every change of a user's subscriptions takes
//! the same lock, so it happens entirely before or after a sync.

mod queries;

use std::collections::{HashMap, HashSet};

use entity::ids::{ChannelId, Seq, UserId};
use entity::prelude::{ColumnTrait, EntityTrait, Expr, InList, LIST, QueryFilter, QueryOrder, QuerySelect};
use entity::publication::{self, Entity as Publication};
use entity::user::{self, Entity as User};

use super::amendments::{self, SubjectRange};
use crate::tenant::{Tenant, load_head};
use crate::{counters, user as people};
use base::clock::Millis;
use base::error::Result;
use queries::{LockWait, LockedUser, LogState, SyncGap, UnsyncedChannel};
pub use queries::{push_by_another, push_is_subscribed};
use store::{PendingAudit, Store, Transaction, transaction};

/// Users per transaction. It locks the row of each.
const USERS_PER_TRANSACTION: usize = 500;

/// Users at most this many entries behind are synced together by walking the log. Beyond that (and beyond the number of
/// their channels), each user is synced alone, channel by channel.
const NEAR_GAP: i64 = 256;

/// About how many items one transaction adds for users who are far behind, and about how many amendments it examines
/// (`amendments`). The next transaction does the rest.
const ITEMS_PER_TRANSACTION: u64 = 5000;

/// Syncs inboxes to the end of the log, however far they are behind, in transactions of bounded size. Returns the
/// position that all of them reached: the end of the log as the first transaction read it.
pub async fn sync_to_end(store: &Store, tenant: &Tenant, users: &[UserId]) -> Result<Seq> {
    Ok(sync_in_steps(store, tenant, users, LockWait::Awaited).await?.0)
}

/// Before a transaction that syncs inboxes, syncs those that are far behind. Costs one small statement if none is.
/// Returns the catalogue version, which the same statement reads; `None` if none of the users exists.
pub async fn sync_if_far(store: &Store, tenant: &Tenant, users: &[UserId]) -> Result<Option<i64>> {
    let mut version = None;
    for users in users.chunks(LIST) {
        let gaps: Vec<SyncGap> =
            queries::select_gaps(&store.db.read, tenant, users).fetch_by_name(&store.db.read).await?;
        version = version.max(gaps.iter().map(|of| of.catalogue_version).max());
        let far: Vec<UserId> = gaps.into_iter().filter(|of| of.behind > NEAR_GAP).map(|of| of.id).collect();
        sync_to_end(store, tenant, &far).await?;
    }
    Ok(version)
}

/// Like [`sync_to_end`], but never waits for a lock. Also returns the users it left out, because their rows are locked
/// or because they no longer exist.
pub async fn sync_unlocked(store: &Store, tenant: &Tenant, users: &[UserId]) -> Result<(Seq, Vec<UserId>)> {
    sync_in_steps(store, tenant, users, LockWait::LeftOut).await
}

async fn sync_in_steps(store: &Store, tenant: &Tenant, users: &[UserId], held: LockWait) -> Result<(Seq, Vec<UserId>)> {
    let (mut reached, mut missing) = (Seq(i64::MAX), Vec::new());
    for users in users.chunks(USERS_PER_TRANSACTION) {
        let mut behind = users.to_vec();
        while !behind.is_empty() {
            let pulling =
                async { transaction!(store.db, |txn| sync_step(txn, tenant, &behind, held, store.now()).await) };
            let pulled = PendingAudit::without_audit(pulling).await?;
            store.metrics.syncs.inc_by(pulled.moved);
            store.activity.record_syncs(tenant.id, pulled.moved);
            store.metrics.items_made.inc_by(pulled.items);
            store.caches.invalidate_users(&behind);
            reached = reached.min(pulled.end);
            missing.extend(pulled.missing);
            behind = pulled.behind;
        }
    }
    Ok((reached, missing))
}

/// Syncs inboxes inside a transaction that then changes something. Returns the position that all of them reached. The
/// users' rows stay locked until the transaction ends.
///
/// Call [`sync_if_far`] first, so that little is left to do here. Fails with `Error::Erased` if a user no longer
/// exists.
pub async fn sync_in_transaction(txn: &Transaction, tenant: &Tenant, users: &[UserId], now: Millis) -> Result<Seq> {
    let mut pulled = sync_step(txn, tenant, users, LockWait::Awaited, now).await?;
    let end = pulled.end;
    check_none_missing(txn, tenant, &pulled.missing).await?;
    while !pulled.behind.is_empty() {
        pulled = sync_step(txn, tenant, &pulled.behind, LockWait::Awaited, now).await?;
    }
    Ok(pulled.end.min(end))
}

/// Like [`sync_in_transaction`] for one user, without a statement before the transaction. Returns the end of the log
/// and the catalogue version. `None` if the inbox is so far behind that it needs [`sync_if_far`] first.
pub async fn sync_if_near(txn: &Transaction, tenant: &Tenant, user: UserId, now: Millis) -> Result<Option<(Seq, i64)>> {
    let (locked, head) = lock_rows(txn, tenant, &[user], LockWait::Awaited).await?;
    check_none_missing(txn, tenant, &missing_users(&[user], &locked)).await?;
    if locked.iter().any(|of| head.end.0 - of.cursor.0 > NEAR_GAP) {
        return Ok(None);
    }
    let pulled = sync_locked(txn, tenant, locked, head, now).await?;
    Ok(Some((pulled.end, head.catalogue_version)))
}

/// Locked users, and the tenant's state at the time of the lock.
pub struct LockedUsers {
    /// The end of the log.
    pub end: Seq,
    pub catalogue_version: i64,
    /// How many channels each user listens to.
    pub subscription_counts: HashMap<UserId, i64>,
}

/// Locks the users' rows until the transaction ends, without a sync. `Error::Erased` if a user no longer exists.
pub async fn lock_users(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<LockedUsers> {
    let (locked, head) = lock_rows(txn, tenant, users, LockWait::Awaited).await?;
    check_none_missing(txn, tenant, &missing_users(users, &locked)).await?;
    let subscription_counts = locked.into_iter().map(|of| (of.user, of.subscription_count)).collect();
    Ok(LockedUsers { end: head.end, catalogue_version: head.catalogue_version, subscription_counts })
}

async fn check_none_missing(txn: &Transaction, tenant: &Tenant, missing: &[UserId]) -> Result<()> {
    if missing.is_empty() { Ok(()) } else { people::fail_erased(txn, tenant).await }
}

/// The outcome of one step.
struct SyncStep {
    /// The end of the log.
    end: Seq,
    /// Users who have not reached the end yet.
    behind: Vec<UserId>,
    /// Users that were not locked.
    missing: Vec<UserId>,
    /// How many users were behind and moved forward.
    moved: u64,
    /// How many items were added.
    items: u64,
}

/// Locks users' rows and syncs them by one step.
async fn sync_step(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    held: LockWait,
    now: Millis,
) -> Result<SyncStep> {
    let (locked, log) = lock_rows(txn, tenant, users, held).await?;
    let missing = missing_users(users, &locked);
    Ok(SyncStep { missing, ..sync_locked(txn, tenant, locked, log, now).await? })
}

/// Syncs locked users by one step.
async fn sync_locked(
    txn: &Transaction,
    tenant: &Tenant,
    locked: Vec<LockedUser>,
    head: LogState,
    now: Millis,
) -> Result<SyncStep> {
    let LogState { end, amended, .. } = head;
    let gap = |of: &LockedUser| end.0 - of.cursor.0;
    let (near, far): (Vec<LockedUser>, Vec<LockedUser>) =
        locked.into_iter().filter(|of| gap(of) > 0).partition(|of| gap(of) <= NEAR_GAP.max(of.subscription_count));
    let (mut behind, mut moved, mut made, mut near_items) = (Vec::new(), near.len() as u64, 0, 0);
    let mut looked_at = 0;
    if !near.is_empty() {
        let items = queries::walk_log(txn, tenant, &near, end, now).execute(txn).await?;
        let subjects = Some(SubjectRange::ALL).filter(|_| near.iter().any(|of| of.cursor < amended));
        move_cursors(txn, tenant, &near, end, CursorMove { items, subjects, now }).await?;
        near_items = items;
    }
    for of in far {
        if made + looked_at >= ITEMS_PER_TRANSACTION {
            behind.push(of.user);
            continue;
        }
        let subjects = if of.cursor < amended { amendments::load_subject_range(txn, of.user).await? } else { None };
        let (upto, amendments) = match subjects {
            Some(subjects) => amendments::limit_sync(txn, tenant, subjects, (of.cursor, end)).await?,
            None => (end, 0),
        };
        let (reached, items) = sync_from_channels(txn, tenant, of, upto, now).await?;
        move_cursors(txn, tenant, &[of], reached, CursorMove { items, subjects, now }).await?;
        made += items;
        looked_at += amendments;
        moved += 1;
        if reached < end {
            behind.push(of.user);
        }
    }
    Ok(SyncStep { end, behind, missing: Vec::new(), moved, items: near_items + made })
}

/// From the user's channels to the log: finds the channels with new publications, then reads the range of each
/// (`publication`'s key). Costs the channels and their new publications, however long the log is. Returns the position
/// it reached and how many items it added.
async fn sync_from_channels(
    txn: &Transaction,
    tenant: &Tenant,
    of: LockedUser,
    end: Seq,
    now: Millis,
) -> Result<(Seq, u64)> {
    use publication::Column;
    let fresh: Vec<UnsyncedChannel> = queries::select_unsynced_channels(txn, of).fetch_by_name(txn).await?;
    let mut channels: Vec<ChannelId> = fresh.into_iter().map(|of| of.channel_id).collect();
    channels.push(tenant.everyone);

    let mut reached = end;
    // Each chunk of channels gets an equal share of the items.
    let most = (ITEMS_PER_TRANSACTION / channels.chunks(LIST).len() as u64).max(1);
    for channels in channels.chunks(LIST).filter(|_| end.0 - of.cursor.0 > most.cast_signed()) {
        let new = Publication::find().filter(Column::ChannelId.is_in_list(txn, channels));
        let new = new.filter(Column::Seq.gt(of.cursor)).filter(Column::Seq.lte(reached)).order_by_asc(Column::Seq);
        let beyond = new.offset(most).select_only().column(Column::Seq).into_tuple::<Seq>().one(txn).await?;
        reached = beyond.unwrap_or(reached);
    }
    let mut items = 0;
    for channels in channels.chunks(LIST) {
        items += queries::walk_channels(txn, tenant, of, (channels, reached), now).execute(txn).await?;
    }
    Ok((reached, items))
}

/// How users got to a log position.
#[derive(Clone, Copy)]
struct CursorMove {
    /// How many items that added.
    items: u64,
    /// The items that amendments on the way may concern. `None` if there are no amendments, or the inbox was empty.
    subjects: Option<SubjectRange>,
    now: Millis,
}

/// The last step of a sync: counts the new items, applies the amendments on the way, and moves the cursors.
async fn move_cursors(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[LockedUser],
    to: Seq,
    moved: CursorMove,
) -> Result<()> {
    let ids: Vec<UserId> = users.iter().map(|of| of.user).collect();
    let start = users.iter().map(|of| of.cursor).min().unwrap_or(to);
    if moved.items > 0 {
        counters::record_arrivals(txn, tenant, &ids, (start, to), moved.now).await?;
    }
    if let Some(subjects) = moved.subjects {
        amendments::apply(txn, tenant, &ids, subjects, (start, to)).await?;
    }
    let forward = User::update_many().col_expr(user::Column::CursorSeq, Expr::val(to));
    let forward = forward.filter(user::Column::Id.is_in_list(txn, &ids)).filter(user::Column::CursorSeq.lt(to));
    forward.exec(txn).await?;
    Ok(())
}

/// Locks the users' rows in id order and reads the end of the log.
///
/// The end may have been read before the wait for the lock. That is harmless: it is still a valid log position, and the
/// next sync brings what follows.
pub(super) async fn lock_rows(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    waits: LockWait,
) -> Result<(Vec<LockedUser>, LogState)> {
    let rows: Vec<(LockedUser, LogState)> =
        queries::select_for_update(txn, tenant, users, waits).fetch_numbers(txn).await?;
    let head = if let Some((_, head)) = rows.first() {
        *head
    } else {
        // All of them were erased meanwhile, or are locked by other transactions.
        let (end, catalogue_version) = load_head(txn, tenant).await?;
        LogState { end, amended: Seq(0), catalogue_version }
    };
    Ok((rows.into_iter().map(|(locked, _)| locked).collect(), head))
}

/// The users that [`lock_rows`] did not lock.
pub(super) fn missing_users(users: &[UserId], locked: &[LockedUser]) -> Vec<UserId> {
    if locked.len() == users.len() {
        return Vec::new();
    }
    let locked: HashSet<UserId> = locked.iter().map(|of| of.user).collect();
    users.iter().copied().filter(|user| !locked.contains(user)).collect()
}

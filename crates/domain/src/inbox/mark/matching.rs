//! Marks of all matching items, and `record_seen`.
//!
//! Reading all items of a type raises its read mark instead of touching the items, however many there are.

use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::{ExistingRows, insert};
use entity::read_mark;

use super::outcome::{ChangeCounts, MarkOutcome};
use super::queries::{self, MatchingItem, UnreadCounts};
use super::transitions::{ItemChange, ItemTransition, StateTransition, transitions_for, write_transitions};
use crate::catalogue::{self, Catalogue, MessageType, ReadPolicy};
use crate::channel::ActionTarget;
use crate::inbox::sync;
use crate::tenant::Tenant;
use crate::{counters, user};
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
use model::catalogue::unknown_type;
use store::{Store, Transaction, transaction};

/// The items of a bulk mark.
#[derive(Clone, Debug, Default)]
pub struct MarkFilter {
    /// Codes of types; `None` means all.
    pub types: Option<Vec<String>>,
    pub target: Option<ActionTarget>,
    /// The last item to mark, inclusive. `None` means everything in the inbox at the time of the call.
    pub up_to: Option<Seq>,
    /// Whether the caller wants an exact count, for which the database examines every item.
    pub is_counted: bool,
}

/// Changes the state of all matching items.
pub(super) async fn apply(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    of: &MarkFilter,
    change: ItemChange,
) -> Result<MarkOutcome> {
    let (changed, catalogue) = run_bulk_mark(store, tenant, user, BulkMark::Change(change, of)).await?;
    Ok(changed.to_outcome(&catalogue))
}

/// Records that the user looked at the inbox, or at one type of it. Types with the `Auto` read policy become read;
/// without `only`, all items become seen as well. Counts the read items exactly if `is_counted`.
pub async fn record_seen(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    only: Option<&str>,
    is_counted: bool,
) -> Result<MarkOutcome> {
    let (changed, catalogue) = run_bulk_mark(store, tenant, user, BulkMark::See(only, is_counted)).await?;
    Ok(changed.to_outcome(&catalogue))
}

/// A change of all items that meet a condition.
#[derive(Clone, Copy)]
enum BulkMark<'a> {
    Change(ItemChange, &'a MarkFilter),
    /// The user looked at the whole inbox or at one type; and whether to count the items that this reads.
    See(Option<&'a str>, bool),
}

/// The outcome of one attempt.
enum MarkAttempt {
    Done(ChangeCounts),
    /// The inbox is too far behind: sync it to near the end of the log first.
    Far,
    /// The catalogue now has this version, which is not the one that was used.
    Outdated(i64),
}

/// Makes a bulk mark and returns the catalogue it used. Takes one transaction, unless the inbox is far behind or the
/// cached catalogue is outdated.
async fn run_bulk_mark(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    bulk: BulkMark<'_>,
) -> Result<(ChangeCounts, Arc<Catalogue>)> {
    let mut catalogue = catalogue::load_cached(store, tenant).await?;
    loop {
        let tried = transaction!(store.db, |txn| {
            let now = store.now();
            let Some((end, version)) = sync::sync_if_near(txn, tenant, user, now).await? else {
                return Ok(MarkAttempt::Far);
            };
            if version != catalogue.version {
                return Ok(MarkAttempt::Outdated(version));
            }
            let inbox = LockedInbox { txn, tenant, user, now };
            Ok(MarkAttempt::Done(inbox.apply_bulk_mark(bulk, (end, &catalogue)).await?))
        })?;
        match tried {
            MarkAttempt::Done(changed) => {
                if !changed.is_empty() || matches!(bulk, BulkMark::See(..)) {
                    store.caches.invalidate_users(&[user]);
                }
                return Ok((changed, catalogue));
            }
            MarkAttempt::Far => drop(sync::sync_to_end(store, tenant, &[user]).await?),
            MarkAttempt::Outdated(version) => catalogue = catalogue::load_version(store, tenant, version).await?,
        }
    }
}

/// A user's inbox in a transaction that has locked and synced it.
struct LockedInbox<'a> {
    txn: &'a Transaction,
    tenant: &'a Tenant,
    user: UserId,
    now: Millis,
}

impl LockedInbox<'_> {
    async fn apply_bulk_mark(&self, bulk: BulkMark<'_>, by: (Seq, &Catalogue)) -> Result<ChangeCounts> {
        let mut changed = ChangeCounts::default();
        match bulk {
            BulkMark::Change(change, of) => {
                self.change_matching(&mut changed, change, of, by).await?;
                if !changed.is_empty() {
                    self.record_change(&changed).await?;
                }
            }
            BulkMark::See(only, is_counted) => self.mark_as_seen(&mut changed, (only, is_counted), by).await?,
        }
        Ok(changed)
    }

    async fn mark_as_seen(
        &self,
        changed: &mut ChangeCounts,
        (only, is_counted): (Option<&str>, bool),
        (end, catalogue): (Seq, &Catalogue),
    ) -> Result<()> {
        if let Some(code) = only
            && catalogue.message_type(code).is_none()
        {
            return Err(unknown_type("type", code));
        }
        let is_seen = |kind: &&Arc<MessageType>| only.is_none_or(|code| code == kind.code);
        let of = catalogue.types.iter().filter(|kind| kind.read_policy == ReadPolicy::Auto).filter(is_seen);
        self.read_all(changed, &of.map(|kind| kind.id).collect::<Vec<_>>(), end, is_counted).await?;
        match only {
            None => user::record_inbox_seen(self.txn, self.tenant, self.user, end).await,
            Some(_) => self.record_change(changed).await,
        }
    }

    /// Records that the inbox has changed, unless that is already recorded.
    async fn record_change(&self, changed: &ChangeCounts) -> Result<()> {
        if changed.is_noted {
            self.txn.notify(Notice::inbox_changes(self.tenant.id, &[self.user]));
            return Ok(());
        }
        user::record_inbox_change(self.txn, self.tenant, &[self.user]).await
    }

    async fn change_matching(
        &self,
        changed: &mut ChangeCounts,
        change: ItemChange,
        of: &MarkFilter,
        (end, catalogue): (Seq, &Catalogue),
    ) -> Result<()> {
        if let Some(target) = &of.target {
            target.check().map_err(|error| error.with_field_prefix("select.matching"))?;
        }
        let types = catalogue.select_types("select.matching.types", of.types.as_deref())?;
        let up_to = of.up_to.unwrap_or(end).min(end);
        if change == ItemChange::Read && of.target.is_none() {
            let types: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
            return self.read_all(changed, &types, up_to, of.is_counted).await;
        }
        counters::flush_users(self.txn, &[self.user]).await?;
        for kind in types {
            for step in transitions_for(change) {
                // Bulk marks skip the archive, except for the one that empties it.
                if !step.from.is_archived() || change == ItemChange::Unarchive {
                    changed.add(kind.id, self.apply_transition(step, kind.id, up_to, of.target.as_ref()).await?);
                }
            }
        }
        Ok(())
    }

    /// Raises the read marks of those types that have unread items, and adds how many items that reads. Touches no
    /// items except those kept unread, which no counter span covers, so no spans need flushing. Takes one statement on
    /// PostgreSQL and three elsewhere, for any number of types and items. Without counting, it examines one item of
    /// each type.
    async fn read_all(&self, changed: &mut ChangeCounts, kinds: &[TypeId], up_to: Seq, is_counted: bool) -> Result<()> {
        if kinds.is_empty() {
            return Ok(());
        }
        let of = queries::select_unread(self.txn, (self.user, kinds), up_to, is_counted, self.now);
        let unread: Vec<UnreadCounts> = of.fetch_by_name(self.txn).await?;
        for of in unread.iter().filter(|of| of.kept > 0) {
            self.apply_transition(&StateTransition::KEPT_TO_READ, of.type_id, up_to, None).await?;
        }
        let fresh: Vec<&UnreadCounts> = unread.iter().filter(|of| of.fresh > 0).collect();
        if !fresh.is_empty() && !queries::can_mark_in_select(self.txn) {
            use read_mark::Column::{ReadAt, ReadUpto, TypeId, UserId};
            let spans = fresh.iter().map(|of| (of.type_id, of.mark));
            counters::record_reads(self.txn, self.user, spans, up_to, self.now).await?;
            let mark = |of: &&UnreadCounts| [self.user.into(), of.type_id.into(), up_to.into(), self.now.into()];
            let marks = fresh.iter().map(mark).collect();
            insert(self.txn, [UserId, TypeId, ReadUpto, ReadAt], marks, ExistingRows::Kept).await?;
        }
        changed.is_noted |= !fresh.is_empty() && queries::can_mark_in_select(self.txn);
        for of in &unread {
            changed.add(of.type_id, (of.fresh + of.kept).unsigned_abs());
        }
        Ok(())
    }

    /// Applies a step to all items of a type that it concerns. Returns how many there were.
    async fn apply_transition(
        &self,
        step: &StateTransition,
        kind: TypeId,
        up_to: Seq,
        target: Option<&ActionTarget>,
    ) -> Result<u64> {
        let of = queries::select_matching(self.txn, self.tenant, (self.user, kind), (step, up_to, target), self.now);
        let concerned: Vec<MatchingItem> = of.fetch_by_name(self.txn).await?;
        let moved: Vec<ItemTransition<'_>> =
            concerned.iter().map(|item| ItemTransition { user: self.user, seq: item.seq, step }).collect();
        write_transitions(self.txn, self.tenant, &moved, self.now).await?;
        Ok(moved.len() as u64)
    }
}

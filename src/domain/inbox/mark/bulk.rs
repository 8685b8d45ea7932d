//! Marks of all matching items, and `see`.
//!
//! Reading all items of a type raises its read mark instead of touching the items, however many there are.

use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::{Existing, insert};
use entity::read_mark;

use super::changed::{Changed, Marked};
use super::statement::{self, Concerned, Unread};
use super::step::{Change, Step, steps};
use super::write::{Moved, write};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue, MessageType, ReadPolicy};
use crate::domain::channel::Target;
use crate::domain::inbox::sync;
use crate::domain::tally;
use crate::domain::tenant::Tenant;
use crate::domain::user as people;
use crate::error::Result;
use crate::hub::Notice;
use crate::model::catalogue::no_type;

/// The items of a bulk mark.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Codes of types; `None` means all.
    pub types: Option<Vec<String>>,
    pub target: Option<Target>,
    /// The last item to mark, inclusive. `None` means everything in the inbox at the time of the call.
    pub up_to: Option<Seq>,
    /// Whether the caller wants an exact count, for which the database examines every item.
    pub is_counted: bool,
}

/// Changes the state of all matching items.
pub(super) async fn apply(app: &App, tenant: &Tenant, user: UserId, of: &Match, change: Change) -> Result<Marked> {
    let (changed, catalogue) = in_bulk(app, tenant, user, Bulk::Change(change, of)).await?;
    Ok(changed.by(&catalogue))
}

/// Records that the user looked at the inbox, or at one type of it. Types with the `Auto` read policy become read;
/// without `only`, all items become seen as well. Counts the read items exactly if `is_counted`.
pub async fn see(app: &App, tenant: &Tenant, user: UserId, only: Option<&str>, is_counted: bool) -> Result<Marked> {
    let (changed, catalogue) = in_bulk(app, tenant, user, Bulk::See(only, is_counted)).await?;
    Ok(changed.by(&catalogue))
}

/// A change of all items that meet a condition.
#[derive(Clone, Copy)]
enum Bulk<'a> {
    Change(Change, &'a Match),
    /// The user looked at the whole inbox or at one type; and whether to count the items that this reads.
    See(Option<&'a str>, bool),
}

/// The outcome of one attempt.
enum Tried {
    Done(Changed),
    /// The inbox is too far behind: sync it to near the end of the log first.
    Far,
    /// The catalogue now has this version, which is not the one that was used.
    Outdated(i64),
}

/// Makes a bulk mark and returns the catalogue it used. Takes one transaction, unless the inbox is far behind or the
/// cached catalogue is outdated.
async fn in_bulk(app: &App, tenant: &Tenant, user: UserId, bulk: Bulk<'_>) -> Result<(Changed, Arc<Catalogue>)> {
    let mut catalogue = catalogue::cached(app, tenant).await?;
    loop {
        let tried = transaction!(app.db, |txn| {
            let now = app.now();
            let Some((end, version)) = sync::nearby(txn, tenant, user, now).await? else { return Ok(Tried::Far) };
            if version != catalogue.version {
                return Ok(Tried::Outdated(version));
            }
            let inbox = Inbox { txn, tenant, user, now };
            Ok(Tried::Done(inbox.mark(bulk, (end, &catalogue)).await?))
        })?;
        match tried {
            Tried::Done(changed) => {
                if !changed.is_empty() || matches!(bulk, Bulk::See(..)) {
                    app.caches.forget(&[user]);
                }
                return Ok((changed, catalogue));
            }
            Tried::Far => drop(sync::caught_up(app, tenant, &[user]).await?),
            Tried::Outdated(version) => catalogue = catalogue::at(app, tenant, version).await?,
        }
    }
}

/// A user's inbox in a transaction that has locked and synced it.
struct Inbox<'a> {
    txn: &'a Transaction,
    tenant: &'a Tenant,
    user: UserId,
    now: Millis,
}

impl Inbox<'_> {
    async fn mark(&self, bulk: Bulk<'_>, by: (Seq, &Catalogue)) -> Result<Changed> {
        let mut changed = Changed::default();
        match bulk {
            Bulk::Change(change, of) => {
                self.change_matching(&mut changed, change, of, by).await?;
                if !changed.is_empty() {
                    self.note(&changed).await?;
                }
            }
            Bulk::See(only, is_counted) => self.see(&mut changed, (only, is_counted), by).await?,
        }
        Ok(changed)
    }

    async fn see(
        &self,
        changed: &mut Changed,
        (only, is_counted): (Option<&str>, bool),
        (end, catalogue): (Seq, &Catalogue),
    ) -> Result<()> {
        if let Some(code) = only
            && catalogue.message_type(code).is_none()
        {
            return Err(no_type("type", code));
        }
        let is_seen = |kind: &&Arc<MessageType>| only.is_none_or(|code| code == kind.code);
        let of = catalogue.types.iter().filter(|kind| kind.read_policy == ReadPolicy::Auto).filter(is_seen);
        self.read_all(changed, &of.map(|kind| kind.id).collect::<Vec<_>>(), end, is_counted).await?;
        match only {
            None => people::seen(self.txn, self.tenant, self.user, end).await,
            Some(_) => self.note(changed).await,
        }
    }

    /// Records that the inbox has changed, unless that is already recorded.
    async fn note(&self, changed: &Changed) -> Result<()> {
        if changed.is_noted {
            self.txn.tell(Notice::changed(self.tenant.id, &[self.user]));
            return Ok(());
        }
        people::changed(self.txn, self.tenant, &[self.user]).await
    }

    async fn change_matching(
        &self,
        changed: &mut Changed,
        change: Change,
        of: &Match,
        (end, catalogue): (Seq, &Catalogue),
    ) -> Result<()> {
        if let Some(target) = &of.target {
            target.check().map_err(|error| error.within("select.matching"))?;
        }
        let types = catalogue.chosen("select.matching.types", of.types.as_deref())?;
        let up_to = of.up_to.unwrap_or(end).min(end);
        if change == Change::Read && of.target.is_none() {
            let types: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
            return self.read_all(changed, &types, up_to, of.is_counted).await;
        }
        tally::settle(self.txn, &[self.user]).await?;
        for kind in types {
            for step in steps(change) {
                // Bulk marks skip the archive, except for the one that empties it.
                if !step.from.is_archived() || change == Change::Unarchive {
                    changed.add(kind.id, self.step(step, kind.id, up_to, of.target.as_ref()).await?);
                }
            }
        }
        Ok(())
    }

    /// Raises the read marks of those types that have unread items, and adds how many items that reads. Touches no
    /// items except those kept unread, which no counter span covers, so no spans need flushing. Takes one statement on
    /// PostgreSQL and three elsewhere, for any number of types and items. Without counting, it examines one item of
    /// each type.
    async fn read_all(&self, changed: &mut Changed, kinds: &[TypeId], up_to: Seq, is_counted: bool) -> Result<()> {
        if kinds.is_empty() {
            return Ok(());
        }
        let of = statement::unread(self.txn, (self.user, kinds), up_to, is_counted, self.now);
        let unread: Vec<Unread> = of.rows(self.txn).await?;
        for of in unread.iter().filter(|of| of.kept > 0) {
            self.step(&Step::KEPT_TO_READ, of.type_id, up_to, None).await?;
        }
        let fresh: Vec<&Unread> = unread.iter().filter(|of| of.fresh > 0).collect();
        if !fresh.is_empty() && !statement::unread_is_read(self.txn) {
            use read_mark::Column::{ReadAt, ReadUpto, TypeId, UserId};
            let spans = fresh.iter().map(|of| (of.type_id, of.mark));
            tally::read(self.txn, self.user, spans, up_to, self.now).await?;
            let mark = |of: &&Unread| [self.user.into(), of.type_id.into(), up_to.into(), self.now.into()];
            let marks = fresh.iter().map(mark).collect();
            insert(self.txn, [UserId, TypeId, ReadUpto, ReadAt], marks, Existing::Kept).await?;
        }
        changed.is_noted |= !fresh.is_empty() && statement::unread_is_read(self.txn);
        for of in &unread {
            changed.add(of.type_id, (of.fresh + of.kept).unsigned_abs());
        }
        Ok(())
    }

    /// Applies a step to all items of a type that it concerns. Returns how many there were.
    async fn step(&self, step: &Step, kind: TypeId, up_to: Seq, target: Option<&Target>) -> Result<u64> {
        let of = statement::concerned(self.txn, self.tenant, (self.user, kind), (step, up_to, target), self.now);
        let concerned: Vec<Concerned> = of.rows(self.txn).await?;
        let moved: Vec<Moved<'_>> =
            concerned.iter().map(|item| Moved { user: self.user, seq: item.seq, step }).collect();
        write(self.txn, self.tenant, &moved, self.now).await?;
        Ok(moved.len() as u64)
    }
}

//! Marks of all items that match, and of all that are seen.
//!
//! Reading everything of a type raises a mark instead of touching the items, whatever their number.

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

/// What a bulk mark is about.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    pub target: Option<Target>,
    /// Up to and including this one; nothing means all that is there when the call is made.
    pub up_to: Option<Seq>,
    /// Whether somebody wants to know how many they are, each of which is to be looked at then.
    pub is_counted: bool,
}

/// Changes the state of all that match.
pub(super) async fn apply(app: &App, tenant: &Tenant, user: UserId, of: &Match, change: Change) -> Result<Marked> {
    let (changed, catalogue) = in_bulk(app, tenant, user, Bulk::Change(change, of)).await?;
    Ok(changed.by(&catalogue))
}

/// The inbox, or one type of it, was looked at: types that read themselves are read, and, if it was the whole, nothing
/// is unseen any more. What is read is counted where somebody wants to know.
pub async fn see(app: &App, tenant: &Tenant, user: UserId, only: Option<&str>, is_counted: bool) -> Result<Marked> {
    let (changed, catalogue) = in_bulk(app, tenant, user, Bulk::See(only, is_counted)).await?;
    Ok(changed.by(&catalogue))
}

/// What is done to an inbox by what its items are, not by their ids.
#[derive(Clone, Copy)]
enum Bulk<'a> {
    Change(Change, &'a Match),
    /// All of it was looked at, or a type of it; and whether what is read is counted.
    See(Option<&'a str>, bool),
}

/// What came of a try at a bulk mark.
enum Tried {
    Done(Changed),
    /// The inbox is to be brought near the end of the log first.
    Far,
    /// The catalogue has another version than this went by.
    Outdated(i64),
}

/// Does a bulk mark, and returns the catalogue that it went by: in one transaction, unless the inbox is far behind or the catalogue that is
/// remembered was an old one.
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

/// A user's inbox within a transaction that has locked and synced it.
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

    /// Notes that the inbox has changed, where that is not noted yet.
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
                // A bulk mark is about the inbox proper, but for the one that empties the archive.
                if !step.from.is_archived() || change == Change::Unarchive {
                    changed.add(kind.id, self.step(step, kind.id, up_to, of.target.as_ref()).await?);
                }
            }
        }
        Ok(())
    }

    /// Raises the read marks of types, where that makes anything read, and adds how much. The items stay untouched but for
    /// those that were kept unread, which no span counts: so none is to be settled. One statement on PostgreSQL and three elsewhere, however many
    /// types and items there are; where they are not counted it looks at one of each type.
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

    /// Takes a step with all of a type that it is about; returns with how many.
    async fn step(&self, step: &Step, kind: TypeId, up_to: Seq, target: Option<&Target>) -> Result<u64> {
        let of = statement::concerned(self.txn, self.tenant, (self.user, kind), (step, up_to, target), self.now);
        let concerned: Vec<Concerned> = of.rows(self.txn).await?;
        let moved: Vec<Moved<'_>> =
            concerned.iter().map(|item| Moved { user: self.user, seq: item.seq, step }).collect();
        write(self.txn, self.tenant, &moved, self.now).await?;
        Ok(moved.len() as u64)
    }
}

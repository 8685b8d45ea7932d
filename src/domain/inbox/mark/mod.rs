//! Marks: read, unread, archived, deleted, seen.
//!
//! Each is a transaction over the user's locked row: the inbox is synced, then the state changed. Reading
//! everything of a type raises a mark instead of touching the items, whatever their number. Marks of some items by their ids (`items`)
//! share a transaction with those of others.

mod changed;
mod items;
mod statement;
mod step;
mod write;

use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::{Existing, insert};
use entity::read_mark;

use super::sync;
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue, MessageType, ReadPolicy};
use crate::domain::channel::Target;
use crate::domain::tally;
use crate::domain::tenant::Tenant;
use crate::domain::user as people;
use crate::error::Result;
use crate::model::catalogue::no_type;
use changed::Changed;
pub use changed::Marked;
use statement::{Concerned, Unread};
pub use step::Change;
use step::{Step, steps};
use write::{Moved, write};

/// Which of a user's items.
#[derive(Clone, Debug)]
pub enum Selection {
    /// These; those that are gone are passed over.
    Items(Vec<Seq>),
    /// All of the inbox that match.
    Matching(Match),
}

/// What a bulk mark is about.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    pub target: Option<Target>,
    /// Up to and including this one; nothing means all that is there when the call is made.
    pub up_to: Option<Seq>,
}

/// Changes the state of a user's items.
pub async fn apply(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    user: UserId,
    selection: &Selection,
    change: Change,
) -> Result<Marked> {
    match selection {
        Selection::Items(seqs) => items::apply(app, tenant, user, seqs, change).await,
        Selection::Matching(of) => apply_to_all(app, tenant, user, of, change).await,
    }
}

async fn apply_to_all(app: &App, tenant: &Tenant, user: UserId, of: &Match, change: Change) -> Result<Marked> {
    let catalogue = near(app, tenant, user).await?;
    let changed = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        let mut changed = Changed::default();
        inbox.change_matching(&mut changed, change, of, (end, &catalogue)).await?;
        if !changed.is_empty() {
            people::changed(txn, tenant, &[user]).await?;
        }
        Ok(changed)
    })?;
    if !changed.is_empty() {
        app.caches.forget(&[user]).await;
    }
    Ok(changed.by(&catalogue))
}

/// Brings an inbox that is far behind near the end of the log, and returns the catalogue as it is now.
async fn near(app: &App, tenant: &Tenant, user: UserId) -> Result<Arc<Catalogue>> {
    match sync::brought_near(app, tenant, &[user]).await? {
        Some(version) => catalogue::at(app, tenant, version).await,
        None => catalogue::current(app, tenant).await,
    }
}

/// The inbox, or one type of it, was looked at: types that read themselves are read, and, if it was the whole, nothing
/// is unseen any more.
pub async fn see(app: &App, tenant: &Tenant, user: UserId, only: Option<&str>) -> Result<Marked> {
    let catalogue = near(app, tenant, user).await?;
    if let Some(code) = only
        && catalogue.message_type(code).is_none()
    {
        return Err(no_type("type", code));
    }
    let changed = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        let mut changed = Changed::default();
        let is_seen = |kind: &&Arc<MessageType>| only.is_none_or(|code| code == kind.code);
        let of = catalogue.types.iter().filter(|kind| kind.read_policy == ReadPolicy::Auto).filter(is_seen);
        inbox.read_all(&mut changed, &of.map(|kind| kind.id).collect::<Vec<_>>(), end).await?;
        match only {
            None => people::seen(txn, tenant, user, end).await?,
            Some(_) => people::changed(txn, tenant, &[user]).await?,
        }
        Ok(changed)
    })?;
    app.caches.forget(&[user]).await;
    Ok(changed.by(&catalogue))
}

/// A user's inbox within a transaction that has locked and synced it.
struct Inbox<'a> {
    txn: &'a Transaction,
    tenant: &'a Tenant,
    user: UserId,
    now: Millis,
}

impl Inbox<'_> {
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
            return self.read_all(changed, &types.iter().map(|kind| kind.id).collect::<Vec<_>>(), up_to).await;
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
    /// types and items there are.
    async fn read_all(&self, changed: &mut Changed, kinds: &[TypeId], up_to: Seq) -> Result<()> {
        if kinds.is_empty() {
            return Ok(());
        }
        let of = statement::unread(self.txn, (self.user, kinds), up_to, self.now);
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

//! Marks: read, unread, archived, deleted, seen.
//!
//! Each is one transaction over the user's locked row: the inbox is synced, then the state changed. Reading
//! everything of a type raises a mark instead of touching the items, whatever their number.

mod statement;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use entity::inbox_item::{Column, Entity as InboxItem, State};
use entity::prelude::{Among, ColumnTrait, Existing, Expr, LIST, OfUser, QueryFilter, QuerySelect, insert};
use entity::read_mark;
use entity::user::{self, Entity as User};
use sea_orm::UpdateMany;

use super::sync;
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue, MessageType, ReadPolicy};
use crate::domain::channel::Target;
use crate::domain::tally::{self, Reader};
use crate::domain::tenant::Tenant;
use crate::domain::user as people;
use crate::error::Result;
use crate::model::catalogue::no_type;
use statement::{Concerned, Unread, Which};
pub use step::Change;
use step::{Step, steps};

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

/// What a mark did.
#[derive(Clone, Debug)]
pub struct Marked {
    /// For how many items the state was another.
    pub changed_count: u64,
    /// Their types, in catalogue order.
    pub types: Vec<Arc<MessageType>>,
}

/// How many items of each type were changed.
#[derive(Default)]
struct Changed(BTreeMap<TypeId, u64>);

impl Changed {
    fn add(&mut self, kind: TypeId, many: u64) {
        if many > 0 {
            *self.0.entry(kind).or_default() += many;
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn by(&self, catalogue: &Catalogue) -> Marked {
        let types = catalogue.types.iter().filter(|kind| self.0.contains_key(&kind.id)).cloned().collect();
        Marked { changed_count: self.0.values().sum(), types }
    }
}

/// Changes the state of a user's items.
pub async fn apply(app: &App, tenant: &Tenant, user: UserId, selection: &Selection, change: Change) -> Result<Marked> {
    let catalogue = catalogue::current(app, tenant).await?;
    sync::caught_up(app, tenant, &[user]).await?;
    let changed = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        let mut changed = Changed::default();
        match selection {
            Selection::Items(seqs) => inbox.change(&mut changed, change, None, &Which::Items(seqs)).await?,
            Selection::Matching(of) => inbox.change_matching(&mut changed, change, of, (end, &catalogue)).await?,
        }
        if !changed.is_empty() {
            people::changed(txn, tenant, &[user]).await?;
        }
        Ok(changed)
    })?;
    if !changed.is_empty() {
        app.caches.overviews.forget(&[user]).await;
    }
    Ok(changed.by(&catalogue))
}

/// The inbox, or one type of it, was looked at: types that read themselves are read, and, if it was the whole, nothing
/// is unseen any more.
pub async fn see(app: &App, tenant: &Tenant, user: UserId, only: Option<&str>) -> Result<Marked> {
    let catalogue = catalogue::current(app, tenant).await?;
    if let Some(code) = only
        && catalogue.message_type(code).is_none()
    {
        return Err(no_type("type", code));
    }
    sync::caught_up(app, tenant, &[user]).await?;
    let changed = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        let mut changed = Changed::default();
        for kind in &catalogue.types {
            if kind.read_policy == ReadPolicy::Auto && only.is_none_or(|code| code == kind.code) {
                changed.add(kind.id, inbox.read_all(kind.id, end).await?);
            }
        }
        people::changed(txn, tenant, &[user]).await?;
        if only.is_none() {
            let seen = User::update_of_user(user).col_expr(user::Column::SeenSeq, Expr::val(end));
            seen.filter(user::Column::SeenSeq.lt(end)).exec(txn).await?;
        }
        Ok(changed)
    })?;
    app.caches.overviews.forget(&[user]).await;
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
        for kind in types {
            match (change, &of.target) {
                (Change::Read, None) => changed.add(kind.id, self.read_all(kind.id, up_to).await?),
                (_, target) => {
                    self.change(changed, change, Some(kind.id), &Which::UpTo(up_to, target.as_ref())).await?;
                }
            }
        }
        Ok(())
    }

    /// Raises the read mark of a type, if that makes anything read; returns how much. The items stay untouched but for
    /// those that were kept unread.
    async fn read_all(&self, kind: TypeId, up_to: Seq) -> Result<u64> {
        let unread = statement::unread(self.txn, (self.user, kind), up_to, self.now).row(self.txn).await?;
        let Some(Unread { fresh, kept, mark }) = unread else { return Ok(0) };
        if kept > 0 {
            self.step(&Step::KEPT_TO_READ, kind, &Which::UpTo(up_to, None)).await?;
        }
        if fresh > 0 {
            use read_mark::Column::{ReadAt, ReadUpto, TypeId, UserId};
            tally::read(self.txn, self.user, kind, (mark, up_to), self.now).await?;
            let mark = [self.user.into(), kind.into(), up_to.into(), self.now.into()];
            insert(self.txn, [UserId, TypeId, ReadUpto, ReadAt], vec![mark], Existing::Kept).await?;
        }
        Ok((fresh + kept).unsigned_abs())
    }

    /// Changes items one by one, from each state in which they may be to the one that the change leads to.
    async fn change(
        &self,
        changed: &mut Changed,
        change: Change,
        kind: Option<TypeId>,
        which: &Which<'_>,
    ) -> Result<()> {
        tally::settle(self.txn, &[self.user]).await?;
        for step in steps(change) {
            // A bulk mark is about the inbox proper, but for the one that empties the archive.
            if matches!(which, Which::UpTo(..)) && step.from.is_archived() && change != Change::Unarchive {
                continue;
            }
            let types = match kind {
                Some(kind) => vec![kind],
                None => self.types_of(which).await?,
            };
            for kind in types {
                changed.add(kind, self.step(step, kind, which).await?);
            }
        }
        Ok(())
    }

    async fn step(&self, step: &Step, kind: TypeId, which: &Which<'_>) -> Result<u64> {
        let concerned: Vec<Concerned> =
            statement::concerned(self.txn, self.tenant, (self.user, kind), (step, which), self.now)
                .rows(self.txn)
                .await?;
        let seqs: Vec<Seq> = concerned.into_iter().map(|item| item.seq).collect();
        for seqs in seqs.chunks(LIST) {
            let these = Column::Seq.among(self.txn, seqs);
            match step.to {
                Some(to) => self.put(step, to).filter(these).exec(self.txn).await?.rows_affected,
                None => InboxItem::delete_of_user(self.user).filter(these).exec(self.txn).await?.rows_affected,
            };
            match step.makes_read() {
                0 => {}
                by => {
                    let reader = Reader { user: self.user, at: self.now };
                    tally::marked(self.txn, self.tenant, seqs, by, reader).await?;
                }
            }
        }
        Ok(seqs.len() as u64)
    }

    /// The change of a step that brings items to another state.
    fn put(&self, step: &Step, to: State) -> UpdateMany<InboxItem> {
        let mut put = InboxItem::update_of_user(self.user).col_expr(Column::State, Expr::val(to));
        if matches!(to, State::Read | State::ArchivedRead) && !step.was_read {
            put = put.col_expr(Column::ReadAt, Expr::val(self.now));
        }
        if matches!(to, State::KeptUnread | State::ArchivedUnread) {
            put = put.col_expr(Column::ReadAt, Expr::val(None::<Millis>));
        }
        if to.is_archived() != step.from.is_archived() {
            put = put.col_expr(Column::ArchivedAt, Expr::val(to.is_archived().then_some(self.now)));
        }
        put
    }

    async fn types_of(&self, which: &Which<'_>) -> Result<Vec<TypeId>> {
        let Which::Items(seqs) = which else { return Ok(Vec::new()) };
        let these = InboxItem::of_user(self.user).filter(Column::Seq.among(self.txn, seqs));
        Ok(these.select_only().column(Column::TypeId).distinct().into_tuple().all(self.txn).await?)
    }
}

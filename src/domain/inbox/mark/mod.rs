//! Marks: read, unread, archived, deleted, seen.
//!
//! Each is one transaction over the user's locked row: the inbox is synced, then the state changed. Reading
//! everything of a type raises a mark instead of touching the items, whatever their number.

mod statement;
mod step;

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
use crate::domain::catalogue::{self, Catalogue, ReadPolicy};
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::domain::{tally, user as people};
use crate::error::{Error, Result};
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

/// Changes the state of a user's items and returns how many it was another for.
pub async fn apply(app: &App, tenant: &Tenant, user: UserId, selection: &Selection, change: Change) -> Result<u64> {
    let catalogue = catalogue::current(app, tenant).await?;
    sync::caught_up(app, tenant, &[user]).await?;
    let changed_count = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        let changed_count = match selection {
            Selection::Items(seqs) => inbox.change(change, None, &Which::Items(seqs)).await?,
            Selection::Matching(of) => inbox.change_matching(change, of, end, &catalogue).await?,
        };
        if changed_count > 0 {
            people::changed(txn, tenant, &[user]).await?;
        }
        Ok(changed_count)
    })?;
    if changed_count > 0 {
        app.caches.overviews.forget(&[user]).await;
    }
    Ok(changed_count)
}

/// The inbox, or one type of it, was looked at: types that read themselves are read, and, if it was the whole, nothing
/// is unseen any more.
pub async fn see(app: &App, tenant: &Tenant, user: UserId, only: Option<&str>) -> Result<()> {
    let catalogue = catalogue::current(app, tenant).await?;
    if let Some(code) = only
        && catalogue.message_type(code).is_none()
    {
        return Err(Error::bad_input("type", format!("no message type {code:?}")));
    }
    sync::caught_up(app, tenant, &[user]).await?;
    transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        for kind in &catalogue.types {
            if kind.read_policy == ReadPolicy::Auto && only.is_none_or(|code| code == kind.code) {
                inbox.read_all(kind.id, end).await?;
            }
        }
        people::changed(txn, tenant, &[user]).await?;
        if only.is_none() {
            let seen = User::update_of_user(user).col_expr(user::Column::SeenSeq, Expr::val(end));
            seen.filter(user::Column::SeenSeq.lt(end)).exec(txn).await?;
        }
        Ok(())
    })?;
    app.caches.overviews.forget(&[user]).await;
    Ok(())
}

/// A user's inbox within a transaction that has locked and synced it.
struct Inbox<'a> {
    txn: &'a Transaction,
    tenant: &'a Tenant,
    user: UserId,
    now: Millis,
}

impl Inbox<'_> {
    async fn change_matching(&self, change: Change, of: &Match, end: Seq, catalogue: &Catalogue) -> Result<u64> {
        if let Some(target) = &of.target {
            target.check().map_err(|error| error.within("select.matching"))?;
        }
        let types = catalogue.chosen("select.matching.types", of.types.as_deref())?;
        let up_to = of.up_to.unwrap_or(end).min(end);
        let mut changed_count = 0;
        for kind in types {
            changed_count += match (change, &of.target) {
                (Change::Read, None) => self.read_all(kind.id, up_to).await?,
                (_, target) => self.change(change, Some(kind.id), &Which::UpTo(up_to, target.as_ref())).await?,
            };
        }
        Ok(changed_count)
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
    async fn change(&self, change: Change, kind: Option<TypeId>, which: &Which<'_>) -> Result<u64> {
        tally::settle(self.txn, &[self.user]).await?;
        let mut changed_count = 0;
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
                changed_count += self.step(step, kind, which).await?;
            }
        }
        Ok(changed_count)
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
                by => tally::marked(self.txn, self.tenant, seqs, by).await?,
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

//! Marks: read, unread, archived, deleted, seen.
//!
//! Each is one transaction over the user's locked row: the inbox is synced, then the state changed. Reading
//! everything of a type raises a mark instead of touching the items, whatever their number.

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::DatabaseTransaction;

use super::page::push_target;
use super::shelf::{Place, Side, State, push_range, ranges};
use super::sync;
use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::domain::catalogue::{self, Catalogue, ReadPolicy};
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{Existing, Rows, Sql, insert};

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

/// What to do with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Read,
    Unread,
    Archive,
    Unarchive,
    Delete,
}

/// Changes the state of a user's items and returns how many it was another for.
pub async fn apply(app: &App, tenant: &Tenant, user: UserId, selection: &Selection, change: Change) -> Result<u64> {
    let catalogue = catalogue::current(app, tenant).await?;
    sync::caught_up(app, tenant, &[user]).await?;
    let changed_count = transaction!(app.db, |txn| {
        let now = app.now();
        let end = sync::within(txn, tenant, &[user], now).await?;
        let inbox = Inbox { txn, tenant, user, now };
        match selection {
            Selection::Items(seqs) => inbox.change(change, None, &Which::Items(seqs)).await,
            Selection::Matching(of) => inbox.change_matching(change, of, end, &catalogue).await,
        }
    })?;
    if changed_count > 0 {
        app.hub.tell(Notice::changed(tenant.id, &[user]));
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
        if only.is_none() {
            let mut sql = Sql::new(txn);
            sql.push("UPDATE users SET seen_seq = ").bind(end).push(" WHERE id = ").bind(user);
            sql.push(" AND seen_seq < ").bind(end);
            sql.run(txn).await?;
        }
        Ok(())
    })?;
    app.hub.tell(Notice::changed(tenant.id, &[user]));
    Ok(())
}

/// Which items of a type, or of all.
enum Which<'a> {
    Items(&'a [Seq]),
    UpTo(Seq, Option<&'a Target>),
}

/// A user's inbox within a transaction that has locked and synced it.
struct Inbox<'a> {
    txn: &'a DatabaseTransaction,
    tenant: &'a Tenant,
    user: UserId,
    now: Millis,
}

impl Inbox<'_> {
    async fn change_matching(&self, change: Change, of: &Match, end: Seq, catalogue: &Catalogue) -> Result<u64> {
        if let Some(target) = &of.target {
            target.check().map_err(|error| error.within("select.matching"))?;
        }
        let codes = of.types.as_deref().unwrap_or_default();
        if let Some(code) = codes.iter().find(|code| catalogue.message_type(code).is_none()) {
            return Err(Error::bad_input("select.matching.types", format!("no message type {code:?}")));
        }
        let up_to = of.up_to.unwrap_or(end).min(end);
        let mut changed_count = 0;
        for kind in catalogue.types.iter().filter(|kind| of.types.is_none() || codes.contains(&kind.code)) {
            changed_count += match (change, &of.target) {
                (Change::Read, None) => self.read_all(kind.id, up_to).await?,
                (_, target) => self.change(change, Some(kind.id), &Which::UpTo(up_to, target.as_ref())).await?,
            };
        }
        Ok(changed_count)
    }

    /// Raises the read mark of a type, if that makes anything read; returns how much.
    async fn read_all(&self, kind: TypeId, up_to: Seq) -> Result<u64> {
        let mut sql = Sql::new(self.txn);
        sql.push("SELECT ");
        for (place, range) in ranges(Side::Inbox, Some(false)).iter().enumerate() {
            sql.push(if place > 0 { " + " } else { "" }).push("(SELECT count(*) FROM inbox_item i WHERE ");
            push_range(&mut sql, self.user.into(), kind.into(), *range, self.now);
            sql.push(" AND i.seq <= ").bind(up_to).push(")");
        }
        sql.push(" AS unread");
        let unread: i64 = sql.one(self.txn).await?.map_or(Ok(0), |row| row.try_get("", "unread"))?;
        if unread == 0 {
            return Ok(0);
        }
        let mut sql = Sql::new(self.txn);
        sql.push(&format!("UPDATE inbox_item SET state = {}, read_at = ", State::Read as i16)).bind(self.now);
        sql.push(" WHERE user_id = ").bind(self.user).push(" AND type_id = ").bind(kind);
        sql.push(&format!(" AND state = {} AND seq <= ", State::KeptUnread as i16)).bind(up_to);
        sql.run(self.txn).await?;
        let values = vec![vec![self.user.into(), kind.into(), up_to.into(), self.now.into()]];
        let columns = &["user_id", "type_id", "read_upto", "read_at"];
        insert(self.txn, Rows { table: "read_mark", columns, values }, Existing::Kept).await?;
        Ok(unread.unsigned_abs())
    }

    /// Changes items one by one, from each state in which they may be to the one that the change leads to.
    async fn change(&self, change: Change, kind: Option<TypeId>, which: &Which<'_>) -> Result<u64> {
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
        let mut sql = Sql::new(self.txn);
        if let Some(to) = step.to {
            sql.push(&format!("UPDATE inbox_item SET state = {}", to as i16));
            if matches!(to, State::Read | State::ArchivedRead) && !step.was_read {
                sql.push(", read_at = ").bind(self.now);
            }
            if matches!(to, State::KeptUnread | State::ArchivedUnread) {
                sql.push(", read_at = NULL");
            }
            if to.is_archived() != step.from.is_archived() {
                sql.push(", archived_at = ").bind(to.is_archived().then_some(self.now));
            }
        } else {
            sql.push("DELETE FROM inbox_item");
        }
        sql.push(" WHERE user_id = ")
            .bind(self.user)
            .push(" AND seq IN (SELECT c.seq FROM (SELECT i.seq FROM inbox_item i");
        if let Which::UpTo(_, Some(target)) = which {
            sql.push(" JOIN notification n ON n.tenant_id = ").bind(self.tenant.id).push(" AND n.seq = i.seq");
            push_target(&mut sql, "n", target);
        }
        sql.push(" WHERE ");
        push_range(&mut sql, Place::from(self.user), Place::from(kind), (step.from, step.part), self.now);
        match which {
            Which::Items(seqs) => sql.push(" AND i.seq").in_ids(seqs),
            Which::UpTo(up_to, _) => sql.push(" AND i.seq <= ").bind(*up_to),
        };
        sql.push(") c)");
        sql.run(self.txn).await
    }

    async fn types_of(&self, which: &Which<'_>) -> Result<Vec<TypeId>> {
        let Which::Items(seqs) = which else { return Ok(Vec::new()) };
        let mut sql = Sql::new(self.txn);
        sql.push("SELECT DISTINCT type_id FROM inbox_item WHERE user_id = ").bind(self.user);
        sql.push(" AND seq").in_ids(seqs);
        sql.all(self.txn).await?.iter().map(|row| Ok(row.try_get("", "type_id")?)).collect()
    }
}

/// Items of one state (and side of the read mark) come to another; to none when they are deleted.
struct Step {
    from: State,
    part: super::shelf::Part,
    to: Option<State>,
    /// Whether they were read before, so that the instant stays.
    was_read: bool,
}

/// What a change does to items of each state. What they are already is not in the list.
fn steps(change: Change) -> &'static [Step] {
    use super::shelf::Part::{AboveMark, All, UpToMark};
    use State::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    const fn step(from: State, part: super::shelf::Part, to: Option<State>, was_read: bool) -> Step {
        Step { from, part, to, was_read }
    }
    match change {
        Change::Read => {
            const {
                &[
                    step(Fresh, AboveMark, Some(Read), false),
                    step(KeptUnread, All, Some(Read), false),
                    step(ArchivedUnread, All, Some(ArchivedRead), false),
                ]
            }
        }
        Change::Unread => {
            const {
                &[
                    step(Read, All, Some(KeptUnread), true),
                    step(Fresh, UpToMark, Some(KeptUnread), true),
                    step(ArchivedRead, All, Some(ArchivedUnread), true),
                ]
            }
        }
        Change::Archive => {
            const {
                &[
                    step(Fresh, AboveMark, Some(ArchivedUnread), false),
                    step(Fresh, UpToMark, Some(ArchivedRead), true),
                    step(KeptUnread, All, Some(ArchivedUnread), false),
                    step(Read, All, Some(ArchivedRead), true),
                ]
            }
        }
        Change::Unarchive => {
            const { &[step(ArchivedRead, All, Some(Read), true), step(ArchivedUnread, All, Some(KeptUnread), false)] }
        }
        Change::Delete => {
            const {
                &[
                    step(Fresh, All, None, false),
                    step(Read, All, None, false),
                    step(KeptUnread, All, None, false),
                    step(ArchivedRead, All, None, false),
                    step(ArchivedUnread, All, None, false),
                ]
            }
        }
    }
}

//! What a service or an operator is doing that concerns others: written down by the first transaction of theirs that changes
//! anything, and with it. So what they did is in the log if and only if it has happened, and it costs one statement.

use std::sync::Arc;

use entity::audit_entry::{Column, Subject};
use entity::ids::TenantId;
use entity::prelude::{Existing, insert};
use parking_lot::Mutex;
use sea_orm::DbErr;

use super::Transaction;
use crate::clock::Millis;

/// Something that is being done.
#[derive(Clone, Debug)]
pub struct Act {
    pub tenant: TenantId,
    pub at: Millis,
    /// Who does it, as the table keeps them.
    pub actor: String,
    /// What the API calls it.
    pub action: String,
    pub kind: Subject,
    /// To what, as the table names it; an entry each, and one where there is none.
    pub subjects: Vec<String>,
    /// How many things or users each entry is about.
    pub count: i64,
    /// What it is about in particular, in at most 1,000 characters.
    pub detail: Option<String>,
}

tokio::task_local! {
    /// What is under way and not written down yet.
    static UNDER_WAY: Arc<Mutex<Option<Act>>>;
}

impl Act {
    /// Does the work of one caller, whose acts it names by [`Act::begins`] as it comes to them.
    pub fn followed<F: Future>(work: F) -> impl Future<Output = F::Output> {
        UNDER_WAY.scope(Arc::default(), work)
    }

    /// Does what is no part of an act, such as to bring an inbox up to date.
    pub fn aside<F: Future>(work: F) -> impl Future<Output = F::Output> {
        UNDER_WAY.scope(Arc::default(), work)
    }

    /// This is what is done from here on; nothing is noted where nobody follows.
    pub fn begins(self) {
        // What nobody follows concerns nobody else.
        let _ = UNDER_WAY.try_with(|act| *act.lock() = Some(self));
    }

    /// Says to what it is done, where that is known only while it is.
    pub fn concerns<S: ToString>(subjects: impl IntoIterator<Item = S>) {
        let _ = UNDER_WAY.try_with(|act| {
            if let Some(act) = &mut *act.lock() {
                act.subjects = subjects.into_iter().map(|of| of.to_string()).collect();
            }
        });
    }

    /// Whether there is one that is to be written down.
    pub fn is_under_way() -> bool {
        UNDER_WAY.try_with(|act| act.lock().is_some()).unwrap_or_default()
    }

    /// Writes it down.
    pub async fn write(&self, txn: &Transaction) -> Result<(), DbErr> {
        let columns = [
            Column::TenantId,
            Column::At,
            Column::Actor,
            Column::Action,
            Column::SubjectKind,
            Column::Subject,
            Column::SubjectCount,
            Column::Detail,
        ];
        let mut subjects: Vec<Option<String>> = self.subjects.iter().cloned().map(Some).collect();
        subjects.sort_unstable();
        subjects.dedup();
        if subjects.is_empty() {
            subjects.push(None);
        }
        let row = |subject: Option<String>| {
            [
                self.tenant.into(),
                self.at.into(),
                self.actor.clone().into(),
                self.action.clone().into(),
                self.kind.into(),
                subject.into(),
                self.count.into(),
                self.detail.clone().into(),
            ]
        };
        insert(txn, columns, subjects.into_iter().map(row).collect(), Existing::Refused).await?;
        Ok(())
    }

    /// Writes down what is under way, where the transaction has changed anything.
    pub(super) async fn write_within(txn: &Transaction) -> Result<(), DbErr> {
        if !txn.has_changed() {
            return Ok(());
        }
        let act = UNDER_WAY.try_with(|act| act.lock().clone()).ok().flatten();
        match act {
            Some(act) => act.write(txn).await,
            None => Ok(()),
        }
    }

    /// What is under way has been written down, where there was anything.
    pub(super) fn is_written() {
        let _ = UNDER_WAY.try_with(|act| *act.lock() = None);
    }
}

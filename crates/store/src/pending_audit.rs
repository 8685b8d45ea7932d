//! The pending audit entry: an action of a service or an operator that concerns others. The first of its transactions
//! that changes anything also inserts the entry. So the audit log contains the action if and only if it happened, for
//! one extra statement.

use std::sync::Arc;

use entity::audit_entry::{Column, SubjectKind};
use entity::ids::TenantId;
use entity::prelude::{ExistingRows, insert};
use parking_lot::Mutex;
use sea_orm::DbErr;

use super::Transaction;
use base::clock::Millis;

/// An action in progress.
#[derive(Clone, Debug)]
pub struct PendingAudit {
    pub tenant: TenantId,
    pub at: Millis,
    /// The actor, in the format of the table.
    pub actor: String,
    /// The name of the operation in the API.
    pub action: String,
    pub kind: SubjectKind,
    /// The subjects, in the format of the table. One entry is written for each, or a single one if there are none.
    pub subjects: Vec<String>,
    /// How many objects or users each entry is about.
    pub count: i64,
    /// Details, in at most 1,000 characters.
    pub detail: Option<String>,
}

tokio::task_local! {
    /// The action in progress that is not in the log yet.
    static UNDER_WAY: Arc<Mutex<Option<PendingAudit>>>;
}

impl PendingAudit {
    /// Runs the work of one caller, which may declare its actions with [`PendingAudit::start`].
    pub fn audit_scope<F: Future>(work: F) -> impl Future<Output = F::Output> {
        UNDER_WAY.scope(Arc::default(), work)
    }

    /// Runs work that is not part of an action, such as syncing an inbox.
    pub fn without_audit<F: Future>(work: F) -> impl Future<Output = F::Output> {
        UNDER_WAY.scope(Arc::default(), work)
    }

    /// Declares the current action. Ignored outside of [`PendingAudit::audit_scope`].
    pub fn start(self) {
        // Work outside of an audit scope concerns no one else.
        let _ = UNDER_WAY.try_with(|act| *act.lock() = Some(self));
    }

    /// Sets the subjects of the current action, if they are only known during the action.
    pub fn set_subjects<S: ToString>(subjects: impl IntoIterator<Item = S>) {
        let _ = UNDER_WAY.try_with(|act| {
            if let Some(act) = &mut *act.lock() {
                act.subjects = subjects.into_iter().map(|of| of.to_string()).collect();
            }
        });
    }

    /// Whether an action waits to be written.
    pub fn is_pending() -> bool {
        UNDER_WAY.try_with(|act| act.lock().is_some()).unwrap_or_default()
    }

    /// Inserts the entries.
    pub async fn insert_entries(&self, txn: &Transaction) -> Result<(), DbErr> {
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
        insert(txn, columns, subjects.into_iter().map(row).collect(), ExistingRows::Refused).await?;
        Ok(())
    }

    /// Inserts the entries of the current action if the transaction has changed anything.
    pub(super) async fn write_pending(txn: &Transaction) -> Result<(), DbErr> {
        if !txn.has_changed() {
            return Ok(());
        }
        let act = UNDER_WAY.try_with(|act| act.lock().clone()).ok().flatten();
        match act {
            Some(act) => act.insert_entries(txn).await,
            None => Ok(()),
        }
    }

    /// Clears the current action after it has been written.
    pub(super) fn clear_pending() {
        let _ = UNDER_WAY.try_with(|act| *act.lock() = None);
    }
}

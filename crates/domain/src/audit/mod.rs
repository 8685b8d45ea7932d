//! The audit log: which service or operator did what to what, newest first.
//!
//! A mutation names its act (`CallContext::start_audit`). Its first transaction that changes a row writes the entry as
//! its last statement (`database/act.rs`), so no operation can forget it. Sends have no entry of their own:
//! `notification` records the sender, so auditing a send costs nothing, and the list merges both.

mod list;
mod merge;

use std::collections::HashMap;

pub use entity::audit_entry::SubjectKind;
use entity::audit_entry::{Column, Entity as Entries};
use entity::prelude::*;

use super::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
pub use list::{AuditCriteria, load_page};
pub use merge::{AuditCursor, AuditList, AuditPage};
use model::actor::StaffActor;
use store::{PendingAudit, Store, transaction};

/// The most acts returned per notification.
const HISTORY: u64 = 20;

/// An audited act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub at: Millis,
    pub actor: StaffActor,
    /// The mutation or query, as the API names it.
    pub action: String,
    pub kind: SubjectKind,
    /// The object of the act, as the table names it.
    pub subject: Option<String>,
    /// How many objects or users it concerned.
    pub count: i64,
    /// Further details.
    pub detail: Option<String>,
}

/// Writes an entry for an act that changes no rows but must be audited.
pub async fn record_act(store: &Store, act: &PendingAudit) -> Result<()> {
    transaction!(store.db, |txn| Ok(act.insert_entries(txn).await?))
}

/// The acts on notifications after they were sent, newest first, by notification id: ranges of `audit_entry_subject`.
pub async fn load_histories(
    store: &Store,
    tenant: &Tenant,
    notifications: &[i64],
) -> Result<HashMap<i64, Vec<AuditRecord>>> {
    let mut histories = HashMap::with_capacity(notifications.len());
    for id in notifications {
        let done = Entries::of_tenant(tenant.id).filter(Column::SubjectKind.eq(SubjectKind::Notification));
        let done = done.filter(Column::Subject.eq(id.to_string())).order_by_desc(Column::Id).limit(HISTORY);
        let done = done.all(&store.db.read).await?;
        histories.insert(*id, done.into_iter().filter_map(AuditRecord::from_model).collect());
    }
    Ok(histories)
}

/// Deletes a tenant's entries from before an instant, in batches of 1,000 from the start of `audit_entry_tenant`.
pub async fn sweep(store: &Store, tenant: &Tenant, before: Millis) -> Result<u64> {
    let mut swept = 0;
    loop {
        let many = transaction!(store.db, |txn| {
            let first = Entries::of_tenant(tenant.id).order_by_asc(Column::Id).limit(LIST as u64).select_only();
            let first = first.columns([Column::Id, Column::At]).into_tuple::<(i64, Millis)>().all(txn).await?;
            let old: Vec<i64> = first.iter().take_while(|(_, at)| *at < before).map(|(id, _)| *id).collect();
            Ok(Entries::delete_many().filter(Column::Id.is_in_list(txn, &old)).exec(txn).await?.rows_affected)
        })?;
        swept += many;
        if many < LIST as u64 {
            return Ok(swept);
        }
    }
}

impl AuditRecord {
    /// `None` if a newer node wrote the entry with values that this version does not know.
    fn from_model(of: entity::audit_entry::Model) -> Option<Self> {
        Some(Self {
            at: of.at,
            actor: StaffActor::parse_stored(&of.actor)?,
            action: of.action,
            kind: of.subject_kind,
            subject: of.subject,
            count: of.subject_count,
            detail: of.detail,
        })
    }
}

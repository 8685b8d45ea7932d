//! The audit log: which service or operator did what to what, newest first.
//!
//! A mutation names its act (`Call::audits`), and the first of its transactions that changes a row writes the entry as its last statement
//! (`database/act.rs`), so no operation can forget it. Sends have no entry of their own: `notification` records who sent it, so that a
//! send costs nothing more, and the list merges both.

mod list;
mod merge;

use std::collections::HashMap;

use entity::audit_entry::{Column, Entity as Entries};
use entity::prelude::*;

use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Act, transaction};
use crate::error::Result;
use crate::model::actor::Actor;

pub use entity::audit_entry::Subject;
pub use list::{Filter, page};
pub use merge::{List, Page, Place};

/// The most acts that are told of one notification.
const HISTORY: u64 = 20;

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub at: Millis,
    pub actor: Actor,
    /// What the API calls it.
    pub action: String,
    pub kind: Subject,
    /// To what, as the table names it.
    pub subject: Option<String>,
    /// How many things or users it was about.
    pub count: i64,
    /// What it was about in particular.
    pub detail: Option<String>,
}

/// Writes down what changes nothing, and shall be known all the same.
pub async fn note(app: &App, act: &Act) -> Result<()> {
    transaction!(app.db, |txn| Ok(act.write(txn).await?))
}

/// What was done to notifications after they were sent, newest first, by their numbers: ranges of `audit_entry_subject`.
pub async fn histories(app: &App, tenant: &Tenant, notifications: &[i64]) -> Result<HashMap<i64, Vec<Entry>>> {
    let mut histories = HashMap::with_capacity(notifications.len());
    for id in notifications {
        let done = Entries::of_tenant(tenant.id).filter(Column::SubjectKind.eq(Subject::Notification));
        let done = done.filter(Column::Subject.eq(id.to_string())).order_by_desc(Column::Id).limit(HISTORY);
        let done = done.all(&app.db.read).await?;
        histories.insert(*id, done.into_iter().filter_map(Entry::read).collect());
    }
    Ok(histories)
}

/// Deletes a tenant's entries from before an instant, in steps: from the beginning of `audit_entry_tenant` on, as far as they are old.
pub async fn sweep(app: &App, tenant: &Tenant, before: Millis) -> Result<u64> {
    let mut swept = 0;
    loop {
        let many = transaction!(app.db, |txn| {
            let first = Entries::of_tenant(tenant.id).order_by_asc(Column::Id).limit(LIST as u64).select_only();
            let first = first.columns([Column::Id, Column::At]).into_tuple::<(i64, Millis)>().all(txn).await?;
            let old: Vec<i64> = first.iter().take_while(|(_, at)| *at < before).map(|(id, _)| *id).collect();
            Ok(Entries::delete_many().filter(Column::Id.among(txn, &old)).exec(txn).await?.rows_affected)
        })?;
        swept += many;
        if many < LIST as u64 {
            return Ok(swept);
        }
    }
}

impl Entry {
    /// Nothing where it was kept by a newer node, in words that are not known here.
    fn read(of: entity::audit_entry::Model) -> Option<Self> {
        Some(Self {
            at: of.at,
            actor: Actor::read(&of.actor)?,
            action: of.action,
            kind: of.subject_kind,
            subject: of.subject,
            count: of.subject_count,
            detail: of.detail,
        })
    }
}

//! Amendments: retractions and changed expiry of notifications that were published earlier.
//!
//! An amendment is a log entry that names an earlier entry and publishes nothing, so its cost does not depend on the
//! audience. An inbox is also behind if the tenant has amendments after the user's cursor (`tenant.amended_seq`) and
//! one of them concerns one of the user's items. A sync applies these from the notification's current state, a bounded
//! number at a time. Other inboxes pay one statement, as before. Amendments also reach users who have unsubscribed
//! since. If a user has not synced a notification yet, they never get it, because the same transaction expires its
//! publications.
//!
//! Texts are stored only in `notification`, so changing them needs no log entry.

mod queries;

use std::collections::HashMap;

use entity::ids::{Seq, UserId};
use entity::inbox_item::{Column, Entity as InboxItem};
use entity::notification::{self, Entity as Notification};
use entity::prelude::{EntityTrait, Expr, InList, LIST, OfTenant, QueryFilter, QuerySelect};

use crate::counters;
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
use queries::{AmendedItem, AmendmentCount, InboxEdges};
pub(super) use queries::{SubjectRange, push_has_amendment};
use store::Transaction;

/// Maximum amendments that one transaction examines for a user far behind the log.
const AMENDMENTS: i64 = 5000;

/// Maximum log entries that it searches for them.
const ENTRIES: i64 = 200_000;

/// The range of a user's current items that amendments can concern; `None` if the inbox is empty. Items that a sync is
/// about to add do not count: their publications already include the amendments.
pub(super) async fn load_subject_range(txn: &Transaction, user: UserId) -> Result<Option<SubjectRange>> {
    let edges: Option<InboxEdges> = queries::select_edges(txn, user).fetch_optional(txn).await?;
    let Some(InboxEdges { oldest, newest }) = edges else { return Ok(None) };
    Ok(oldest.zip(newest).map(|(oldest, newest)| SubjectRange { oldest, newest }))
}

/// Limits a sync between two log positions, so that it examines a bounded number of amendments. Returns the position it
/// may reach, and how many amendments lie before it.
pub(super) async fn limit_sync(
    txn: &Transaction,
    tenant: &Tenant,
    subjects: SubjectRange,
    (after, upto): (Seq, Seq),
) -> Result<(Seq, u64)> {
    let upto = upto.min(Seq(after.0 + ENTRIES));
    let many = queries::count_amendments(txn, tenant, subjects, (after, upto), AMENDMENTS);
    let Some(AmendmentCount { many, last }) = many.fetch_optional(txn).await? else { return Ok((upto, 0)) };
    Ok((last.filter(|_| many == AMENDMENTS).unwrap_or(upto), many.unsigned_abs()))
}

/// Applies the amendments between two log positions to the inboxes of users. The caller has locked the users' rows.
/// Copies the current state of the notifications, so applying one twice or late is harmless. Notifies the users'
/// sessions if an item changed: a deleted item can no longer lead the notice to its users.
pub(super) async fn apply(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    subjects: SubjectRange,
    within: (Seq, Seq),
) -> Result<()> {
    let concerned: Vec<AmendedItem> =
        queries::select_amended_items(txn, tenant, users, subjects, within).fetch_by_name(txn).await?;
    let subjects: Vec<Seq> = concerned.into_iter().map(|of| of.subject_seq).collect();
    let (mut retracted, mut expiring): (Vec<Seq>, HashMap<Option<Millis>, Vec<Seq>>) = (Vec::new(), HashMap::new());
    for seqs in subjects.chunks(LIST) {
        let says =
            Notification::of_tenant(tenant.id).filter(notification::Column::Seq.is_in_list(txn, seqs)).select_only();
        let says = says.columns([
            notification::Column::Seq,
            notification::Column::ExpiresAt,
            notification::Column::RetractedAt,
        ]);
        for (seq, expires_at, retracted_at) in says.into_tuple::<(Seq, _, Option<Millis>)>().all(txn).await? {
            match retracted_at {
                Some(_) => retracted.push(seq),
                None => expiring.entry(expires_at).or_default().push(seq),
            }
        }
    }
    let mut changed = 0;
    for (expires_at, seqs) in expiring {
        for seqs in seqs.chunks(LIST) {
            let expire = InboxItem::update_many().col_expr(Column::ExpiresAt, Expr::val(expires_at));
            let expire = expire.filter(Column::UserId.is_in_list(txn, users)).filter(Column::Seq.is_in_list(txn, seqs));
            changed += expire.exec(txn).await?.rows_affected;
        }
    }
    if !retracted.is_empty() {
        counters::flush_users(txn, users).await?;
    }
    for retracted in retracted.chunks(LIST) {
        let delete = InboxItem::delete_many().filter(Column::UserId.is_in_list(txn, users));
        changed += delete.filter(Column::Seq.is_in_list(txn, retracted)).exec(txn).await?.rows_affected;
    }
    if changed > 0 {
        txn.notify(Notice::inbox_changes(tenant.id, users));
    }
    Ok(())
}

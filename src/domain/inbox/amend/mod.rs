//! Amendments: retractions and changed expiry of notifications that were published earlier.
//!
//! An amendment is an entry of the log that names an earlier entry and publishes nothing, so it costs the same for any audience. An inbox
//! is also behind if the tenant has amendments after the user's cursor (`tenant.amended_seq`) and one of them concerns an item of the
//! user. A sync applies those amendments from the notification's present state, a bounded number at a time. Unaffected inboxes pay
//! one statement, as ever. Users who unsubscribed meanwhile are reached, too. A user who has not synced the notification yet never gets
//! it, because the same transaction expires its publications.
//!
//! Texts stand once, in `notification`; changing them is no entry of the log.

mod statement;

use std::collections::HashMap;

use entity::ids::{Seq, UserId};
use entity::inbox_item::{Column, Entity as InboxItem};
use entity::notification::{self, Entity as Notification};
use entity::prelude::{Among, EntityTrait, Expr, LIST, OfTenant, QueryFilter, QuerySelect};

use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tally;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::hub::Notice;
pub(super) use statement::Subjects;
use statement::{Concerned, Edges, Many};

pub(super) use statement::push_concerns;

/// Amendments that one transaction looks for in the inbox of a user who is far behind.
const AMENDMENTS: i64 = 5000;

/// Entries of the log among which it looks for those.
const ENTRIES: i64 = 200_000;

/// What may be about a user's inbox as it is; nothing where it is empty. What a sync puts into it is as its publications say,
/// which are amended at once.
pub(super) async fn subjects(txn: &Transaction, user: UserId) -> Result<Option<Subjects>> {
    let edges: Option<Edges> = statement::edges(txn, user).row(txn).await?;
    let Some(Edges { oldest, newest }) = edges else { return Ok(None) };
    Ok(oldest.zip(newest).map(|(oldest, newest)| Subjects { oldest, newest }))
}

/// How far a transaction may come within a part of the log, after its first place and up to its last, so that it looks for
/// a bounded number of amendments in an inbox; and how many these are.
pub(super) async fn reach(
    txn: &Transaction,
    tenant: &Tenant,
    subjects: Subjects,
    (after, upto): (Seq, Seq),
) -> Result<(Seq, u64)> {
    let upto = upto.min(Seq(after.0 + ENTRIES));
    let many = statement::many(txn, tenant, subjects, (after, upto), AMENDMENTS);
    let Some(Many { many, last }) = many.row(txn).await? else { return Ok((upto, 0)) };
    Ok((last.filter(|_| many == AMENDMENTS).unwrap_or(upto), many.unsigned_abs()))
}

/// Applies the amendments of a part of the log, after its first place and up to its last, to the inboxes of users, whose
/// rows are locked. The notifications say what they are now, so that applying one again, or late, does no harm. Whoever shows these inboxes
/// is told where that changes any, for nothing may be left by which they would find the users.
pub(super) async fn apply(
    txn: &Transaction,
    tenant: &Tenant,
    users: &[UserId],
    subjects: Subjects,
    within: (Seq, Seq),
) -> Result<()> {
    let concerned: Vec<Concerned> = statement::concerned(txn, tenant, users, subjects, within).rows(txn).await?;
    let subjects: Vec<Seq> = concerned.into_iter().map(|of| of.subject_seq).collect();
    let (mut retracted, mut expiring): (Vec<Seq>, HashMap<Option<Millis>, Vec<Seq>>) = (Vec::new(), HashMap::new());
    for seqs in subjects.chunks(LIST) {
        let says = Notification::of_tenant(tenant.id).filter(notification::Column::Seq.among(txn, seqs)).select_only();
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
            let expire = expire.filter(Column::UserId.among(txn, users)).filter(Column::Seq.among(txn, seqs));
            changed += expire.exec(txn).await?.rows_affected;
        }
    }
    if !retracted.is_empty() {
        tally::settle(txn, users).await?;
    }
    for retracted in retracted.chunks(LIST) {
        let delete = InboxItem::delete_many().filter(Column::UserId.among(txn, users));
        changed += delete.filter(Column::Seq.among(txn, retracted)).exec(txn).await?.rows_affected;
    }
    if changed > 0 {
        txn.tell(Notice::changed(tenant.id, users));
    }
    Ok(())
}

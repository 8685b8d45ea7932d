//! Turns due digests into deliveries.

use std::collections::HashMap;

use entity::contact::{Column as Of, Entity as Contacts};
use entity::digest::{Column, Entity as Digests, Model};
use entity::ids::{Seq, UserId};
use entity::prelude::*;

use super::queries::{UnreadItem, select_unread};
use crate::destination::{DeliveryEvent, DestinationKind, Lease, NewDelivery, insert_deliveries};
use base::error::Result;
use domain::inbox::sync;
use domain::tenant::Tenant;
use store::{Store, transaction};

/// Users per step.
const USERS: u64 = 200;

/// Turns the first due digests into deliveries. Returns whether there may be more, or `None` if the lease is lost.
///
/// Syncs the inboxes first. A user without new unread items gets no digest; the next item schedules another.
pub async fn make_deliveries(
    store: &Store,
    tenant: &Tenant,
    kind: DestinationKind,
    lease: Lease,
) -> Result<Option<bool>> {
    let due = Digests::find().filter(Column::LaneId.eq(lease.destination)).filter(Column::NextAt.lte(store.now()));
    let due = due.order_by_asc(Column::NextAt).order_by_asc(Column::UserId).limit(USERS).all(&store.db.read).await?;
    if due.is_empty() {
        return Ok(Some(false));
    }
    let users: Vec<UserId> = due.iter().map(|of| of.user_id).collect();
    let upto = sync::sync_to_end(store, tenant, &users).await?;
    let told = digest_deliveries(store, tenant, kind, &due, upto).await?;
    transaction!(store.db, |txn| {
        let now = store.now();
        if lease.lock_destination(txn, now).await?.is_none() {
            return Ok(None);
        }
        let (users_told, deliveries): (Vec<UserId>, Vec<NewDelivery>) = told.iter().copied().unzip();
        insert_deliveries(txn, tenant, lease.destination, deliveries, now).await?;
        let of = |users: &[UserId]| {
            let of = Digests::update_of_tenant(tenant.id).filter(Column::LaneId.eq(lease.destination));
            of.filter(Column::UserId.is_in_list(txn, users))
        };
        of(&users).col_expr(Column::NextAt, Expr::null()).exec(txn).await?;
        for some in users_told.chunks(LIST) {
            of(some).col_expr(Column::UptoSeq, Expr::val(upto)).exec(txn).await?;
        }
        Ok(Some(true))
    })
}

/// A delivery for each address of the users with new unread items.
async fn digest_deliveries(
    store: &Store,
    tenant: &Tenant,
    kind: DestinationKind,
    due: &[Model],
    upto: Seq,
) -> Result<Vec<(UserId, NewDelivery)>> {
    let users: Vec<UserId> = due.iter().map(|of| of.user_id).collect();
    let newest = select_unread(&store.db.read, tenant, kind, &users, 1, store.now())
        .fetch_by_name::<UnreadItem>(&store.db.read)
        .await?;
    let newest: HashMap<UserId, Seq> = newest.into_iter().map(|item| (item.user_id, item.seq)).collect();
    let due: HashMap<UserId, &Model> = due.iter().map(|of| (of.user_id, of)).collect();
    let reached =
        Contacts::of_tenant(tenant.id).filter(Of::UserId.is_in_list(&store.db.read, &users)).filter(Of::Kind.eq(kind));
    let reached = reached.filter(Of::BadSince.is_null()).order_by_asc(Of::Id).select_only();
    let reached = reached.columns([Of::Id, Of::UserId]).into_tuple::<(i64, UserId)>().all(&store.db.read).await?;
    let told = |(contact, user): (i64, UserId)| {
        let of = due.get(&user).filter(|of| newest.get(&user).is_some_and(|newest| *newest > of.upto_seq))?;
        let at = of.next_at?;
        let subject = of.upto_seq.0;
        Some((user, NewDelivery { event: DeliveryEvent::Digest, contact, subject, seq: Some(upto), at, due_at: at }))
    };
    Ok(reached.into_iter().filter_map(told).collect())
}

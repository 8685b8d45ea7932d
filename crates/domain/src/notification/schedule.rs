//! Scheduled notifications: stored until their time, then published like any other, with the audience of that moment.

use entity::ids::{Seq, TenantId};
use entity::notification::{self, Entity as Notifications};
use entity::prelude::*;
use entity::recipient::{self, Entity as Recipient};
use entity::schedule::{Column, Entity as Schedule};
use sea_orm::sea_query::ExprTrait;
use tracing::Instrument;

use super::draft::{NotificationDraft, NotificationRouting};
use super::publish::{self, AllocationRequest, NewPublication};
use super::{Notification, NotificationKind, NotificationRow, select_rows};
use crate::catalogue::{self, Catalogue};
use crate::tenant::{self, Tenant, TenantFailures};
use crate::user;
use base::clock::Millis;
use base::error::{Error, Result};
use base::telemetry::metrics::PublicationLabels;
use store::{Store, Transaction, transaction};

/// Notifications per transaction.
const NOTIFICATIONS: u64 = 200;

/// Transactions in a tenant's turn. The query for the next tenant scans past everything still due of those served.
const TURN: usize = 25;

/// Stores the due times of drafts that are scheduled, and the users that their announcements name.
pub(super) async fn store_schedule(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&NotificationDraft],
    written: &[Notification],
) -> Result<()> {
    let (mut times, mut named): (Vec<[Value; 3]>, Vec<[Value; 3]>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written) {
        let Some(publish_at) = draft.publish_at else { continue };
        times.push([tenant.id.into(), of.id.into(), publish_at.into()]);
        if of.kind == NotificationKind::Announcement {
            let users = draft.envelope.named_users().iter();
            named.extend(users.map(|user| [tenant.id.into(), of.id.into(), (*user).into()]));
        }
    }
    let columns = [Column::TenantId, Column::NotificationId, Column::PublishAt];
    insert(txn, columns, times, ExistingRows::Refused).await?;
    let columns = [recipient::Column::TenantId, recipient::Column::NotificationId, recipient::Column::UserId];
    insert(txn, columns, named, ExistingRows::Refused).await?;
    Ok(())
}

/// Publishes the due notifications of all tenants and returns how many. Tenants take turns, the longest overdue first.
/// If a tenant fails, the others go on, and the first failure is returned at the end.
///
/// The transaction that deletes the row in the schedule publishes the notification. So exactly one node does, and a
/// node that dies leaves nothing half done. Safe on all nodes at once. Does nothing while this node's clock and the
/// database's differ too much. Then other nodes publish, or the notifications wait.
pub async fn publish_due(store: &Store) -> Result<usize> {
    if store.shared_clock.is_in_doubt() {
        return Ok(0);
    }
    let (mut published, mut failures) = (0, TenantFailures::default());
    // The tenants served in this round. The first `failed` of them failed.
    let (mut served, mut failed): (Vec<TenantId>, usize) = (Vec::new(), 0);
    loop {
        let due = if served.len() < LIST { next_due_tenant(store, &served).await? } else { None };
        let Some(tenant) = due else {
            if served.len() == failed {
                return failures.into_result().map(|()| published);
            }
            served.truncate(failed);
            continue;
        };
        if let Some(many) = failures.record_failure(store, tenant, publish_for_tenant(store, tenant).await) {
            published += many;
            served.push(tenant);
        } else {
            served.insert(failed, tenant);
            failed += 1;
        }
    }
}

/// Runs one turn of a tenant. Ends early if the catalogue changes meanwhile.
async fn publish_for_tenant(store: &Store, tenant: TenantId) -> Result<usize> {
    let tenant = tenant::get_by_id(store, tenant).await?;
    let catalogue = catalogue::load_current(store, &tenant).await?;
    let span = tracing::debug_span!(target: "tidings::trace", "publish_due");
    let mut published = 0;
    for _ in 0..TURN {
        let some = async { transaction!(store.db, |txn| publish_step(txn, store, &tenant, &catalogue).await) };
        let kinds = some.instrument(span.clone()).await?.unwrap_or_default();
        for kind in &kinds {
            store.metrics.published.get_or_create(&PublicationLabels { kind: kind.name() }).inc();
        }
        published += kinds.len();
        if kinds.len() as u64 != NOTIFICATIONS {
            break;
        }
    }
    Ok(published)
}

/// The tenant that is longest overdue, except those served.
async fn next_due_tenant(store: &Store, served: &[TenantId]) -> Result<Option<TenantId>> {
    let mut due = Schedule::find().filter(Column::PublishAt.lte(store.now()));
    if !served.is_empty() {
        due = due.filter(Column::TenantId.is_in_list(&store.db.read, served).not());
    }
    let first = due.order_by_asc(Column::PublishAt).select_only().column(Column::TenantId);
    Ok(first.into_tuple().one(&store.db.read).await?)
}

async fn publish_step(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
) -> Result<Option<Vec<NotificationKind>>> {
    let now = store.now();
    let ids = claim_due(txn, tenant, now).await?;
    if ids.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut due = load_routing(txn, tenant, catalogue, &ids).await?;
    let envelopes: Vec<&NotificationRouting> = due.iter().map(|(_, envelope)| envelope).collect();
    let channels = publish::load_channels(txn, tenant, &envelopes).await?;
    let take =
        AllocationRequest { seqs: due.len(), ids: 0, catalogue_version: catalogue.version, at: now, holds_past: false };
    let Some(head) = publish::allocate_entries(txn, tenant, take, now).await? else { return Ok(None) };
    // Rows still name an erased user as sender until the erase job reaches them.
    let senders = due.iter().filter_map(|(_, envelope)| envelope.sender).collect();
    let gone = user::find_missing(txn, tenant, &senders).await?;
    for (_, envelope) in &mut due {
        envelope.sender = envelope.sender.filter(|sender| !gone.contains(sender));
    }
    let mut all = Vec::with_capacity(due.len());
    for (seq, (id, envelope)) in (head.first_seq..).map(Seq).zip(&due) {
        let expires_at = envelope.expires_at(now);
        all.push(NewPublication { envelope, seq, expires_at });
        // Does not count users that were erased since it was scheduled.
        let named = i64::try_from(envelope.named_users().len()).map_err(Error::internal)?;
        let publish = Notifications::update_of_tenant(tenant.id).set(notification::ActiveModel {
            seq: Set(Some(seq)),
            published_at: Set(Some(head.published_at)),
            expires_at: Set(expires_at),
            delivered_count: Set(named),
            audience_size: Set((named > 0).then_some(named)),
            ..Default::default()
        });
        publish.filter(notification::Column::Id.eq(*id)).exec(txn).await?;
    }
    delete_schedule(txn, tenant, &ids).await?;
    publish::publish_all(txn, tenant, &all, &channels, now).await?;
    let kinds = due.iter().map(|(_, envelope)| envelope.kind).collect();
    Ok(Some(kinds))
}

/// Locks the rows that are due. Another node waits for the lock and then no longer finds them.
async fn claim_due(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<Vec<i64>> {
    let due = Schedule::of_tenant(tenant.id).filter(Column::PublishAt.lte(now)).order_by_asc(Column::PublishAt);
    let due = due.order_by_asc(Column::NotificationId).limit(NOTIFICATIONS).for_update(txn);
    Ok(due.select_only().column(Column::NotificationId).into_tuple().all(txn).await?)
}

/// The routing data of the notifications, in the order of `ids`.
async fn load_routing(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    catalogue: &Catalogue,
    ids: &[i64],
) -> Result<Vec<(i64, NotificationRouting)>> {
    let rows: Vec<NotificationRow> =
        select_rows(tenant).filter(notification::Column::Id.is_in_list(db, ids)).into_model().all(db).await?;
    let mut loaded = Vec::with_capacity(ids.len());
    for row in rows {
        loaded.push((row.of.id, NotificationRouting::load_scheduled(db, tenant, catalogue, row).await?));
    }
    loaded.sort_by_key(|(id, _)| ids.iter().position(|of| of == id));
    Ok(loaded)
}

/// Removes notifications from the schedule, with the users that they name.
pub(super) async fn delete_schedule(txn: &Transaction, tenant: &Tenant, ids: &[i64]) -> Result<()> {
    Schedule::delete_of_tenant(tenant.id).filter(Column::NotificationId.is_in_list(txn, ids)).exec(txn).await?;
    let named = recipient::Column::NotificationId.is_in_list(txn, ids);
    Recipient::delete_of_tenant(tenant.id).filter(named).exec(txn).await?;
    Ok(())
}

/// Locks a notification's row in the schedule. Returns false if it has none (any more).
pub(super) async fn lock_schedule(txn: &Transaction, tenant: &Tenant, id: i64) -> Result<bool> {
    let place = Schedule::of_tenant(tenant.id).filter(Column::NotificationId.eq(id)).for_update(txn);
    Ok(place.one(txn).await?.is_some())
}

/// Reschedules a notification. Its row in the schedule is locked.
pub(super) async fn reschedule(txn: &Transaction, tenant: &Tenant, id: i64, to: Millis) -> Result<()> {
    let place = Schedule::update_of_tenant(tenant.id).filter(Column::NotificationId.eq(id));
    place.col_expr(Column::PublishAt, Expr::val(to)).exec(txn).await?;
    Ok(())
}

//! Scheduled notifications: stored until their time, then published like any other, with the audience of that moment.

use entity::ids::{Seq, TenantId};
use entity::notification::{self, Entity as Notifications};
use entity::prelude::*;
use entity::recipient::{self, Entity as Recipient};
use entity::schedule::{Column, Entity as Schedule};
use sea_orm::sea_query::ExprTrait;
use tracing::Instrument;

use super::draft::Draft;
use super::envelope::Envelope;
use super::publish::{self, Publication};
use super::write::{self, Take};
use super::{Kind, Notification, Row, stored};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::{self, Failures, Tenant};
use crate::domain::user;
use crate::error::{Error, Result};
use crate::telemetry::metrics::Published;

/// Notifications per transaction.
const NOTIFICATIONS: u64 = 200;

/// Transactions in a tenant's turn. The query for the next tenant scans past everything still due of those served.
const TURN: usize = 25;

/// Stores the due times of drafts that are scheduled, and the users that their announcements name.
pub(super) async fn keep(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    written: &[Notification],
) -> Result<()> {
    let (mut times, mut named): (Vec<[Value; 3]>, Vec<[Value; 3]>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written) {
        let Some(publish_at) = draft.publish_at else { continue };
        times.push([tenant.id.into(), of.id.into(), publish_at.into()]);
        if of.kind == Kind::Announcement {
            let users = draft.envelope.named().iter();
            named.extend(users.map(|user| [tenant.id.into(), of.id.into(), (*user).into()]));
        }
    }
    let columns = [Column::TenantId, Column::NotificationId, Column::PublishAt];
    insert(txn, columns, times, Existing::Refused).await?;
    let columns = [recipient::Column::TenantId, recipient::Column::NotificationId, recipient::Column::UserId];
    insert(txn, columns, named, Existing::Refused).await?;
    Ok(())
}

/// Publishes the due notifications of all tenants and returns how many. Tenants take turns, the longest overdue first.
/// If a tenant fails, the others go on, and the first failure is returned at the end.
///
/// The transaction that deletes the row in the schedule publishes the notification. So exactly one node does, and a
/// node that dies leaves nothing half done. Safe on all nodes at once. Does nothing while this node's clock and the
/// database's differ too much. Then other nodes publish, or the notifications wait.
pub async fn publish_due(app: &App) -> Result<usize> {
    if app.agreed.is_in_doubt() {
        return Ok(0);
    }
    let (mut published, mut failures) = (0, Failures::default());
    // The tenants served in this round. The first `failed` of them failed.
    let (mut served, mut failed): (Vec<TenantId>, usize) = (Vec::new(), 0);
    loop {
        let due = if served.len() < LIST { first_due(app, &served).await? } else { None };
        let Some(tenant) = due else {
            if served.len() == failed {
                return failures.end().map(|()| published);
            }
            served.truncate(failed);
            continue;
        };
        if let Some(many) = failures.note(app, tenant, publish_of(app, tenant).await) {
            published += many;
            served.push(tenant);
        } else {
            served.insert(failed, tenant);
            failed += 1;
        }
    }
}

/// Runs one turn of a tenant. Ends early if the catalogue changes meanwhile.
async fn publish_of(app: &App, tenant: TenantId) -> Result<usize> {
    let tenant = tenant::by_id(app, tenant).await?;
    let catalogue = catalogue::current(app, &tenant).await?;
    let span = tracing::debug_span!(target: "tidings::trace", "publish_due");
    let mut published = 0;
    for _ in 0..TURN {
        let some = async { transaction!(app.db, |txn| publish_some(txn, app, &tenant, &catalogue).await) };
        let kinds = some.instrument(span.clone()).await?.unwrap_or_default();
        for kind in &kinds {
            app.metrics.published.get_or_create(&Published { kind: kind.name() }).inc();
        }
        published += kinds.len();
        if kinds.len() as u64 != NOTIFICATIONS {
            break;
        }
    }
    Ok(published)
}

/// The tenant that is longest overdue, except those served.
async fn first_due(app: &App, served: &[TenantId]) -> Result<Option<TenantId>> {
    let mut due = Schedule::find().filter(Column::PublishAt.lte(app.now()));
    if !served.is_empty() {
        due = due.filter(Column::TenantId.among(&app.db.read, served).not());
    }
    let first = due.order_by_asc(Column::PublishAt).select_only().column(Column::TenantId);
    Ok(first.into_tuple().one(&app.db.read).await?)
}

async fn publish_some(
    txn: &Transaction,
    app: &App,
    tenant: &Tenant,
    catalogue: &Catalogue,
) -> Result<Option<Vec<Kind>>> {
    let now = app.now();
    let ids = claim(txn, tenant, now).await?;
    if ids.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut due = load(txn, tenant, catalogue, &ids).await?;
    let envelopes: Vec<&Envelope> = due.iter().map(|(_, envelope)| envelope).collect();
    let channels = publish::listened(txn, tenant, &envelopes).await?;
    let take = Take { seqs: due.len(), ids: 0, catalogue_version: catalogue.version, at: now, holds_past: false };
    let Some(head) = write::take(txn, tenant, take, now).await? else { return Ok(None) };
    // Rows still name an erased user as sender until the erase job reaches them.
    let senders = due.iter().filter_map(|(_, envelope)| envelope.sender).collect();
    let gone = user::gone(txn, tenant, &senders).await?;
    for (_, envelope) in &mut due {
        envelope.sender = envelope.sender.filter(|sender| !gone.contains(sender));
    }
    let mut all = Vec::with_capacity(due.len());
    for (seq, (id, envelope)) in (head.first_seq..).map(Seq).zip(&due) {
        let expires_at = envelope.expires_at(now);
        all.push(Publication { envelope, seq, expires_at });
        // Does not count users that were erased since it was scheduled.
        let named = i64::try_from(envelope.named().len()).map_err(Error::internal)?;
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
    forget(txn, tenant, &ids).await?;
    publish::publish(txn, tenant, &all, &channels, now).await?;
    let kinds = due.iter().map(|(_, envelope)| envelope.kind).collect();
    Ok(Some(kinds))
}

/// Locks the rows that are due. Another node waits for the lock and then no longer finds them.
async fn claim(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<Vec<i64>> {
    let due = Schedule::of_tenant(tenant.id).filter(Column::PublishAt.lte(now)).order_by_asc(Column::PublishAt);
    let due = due.order_by_asc(Column::NotificationId).limit(NOTIFICATIONS).for_update(txn);
    Ok(due.select_only().column(Column::NotificationId).into_tuple().all(txn).await?)
}

/// The routing data of the notifications, in the order of `ids`.
async fn load(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    catalogue: &Catalogue,
    ids: &[i64],
) -> Result<Vec<(i64, Envelope)>> {
    let rows: Vec<Row> = stored(tenant).filter(notification::Column::Id.among(db, ids)).into_model().all(db).await?;
    let mut loaded = Vec::with_capacity(ids.len());
    for row in rows {
        loaded.push((row.of.id, Envelope::scheduled(db, tenant, catalogue, row).await?));
    }
    loaded.sort_by_key(|(id, _)| ids.iter().position(|of| of == id));
    Ok(loaded)
}

/// Removes notifications from the schedule, with the users that they name.
pub(super) async fn forget(txn: &Transaction, tenant: &Tenant, ids: &[i64]) -> Result<()> {
    Schedule::delete_of_tenant(tenant.id).filter(Column::NotificationId.among(txn, ids)).exec(txn).await?;
    let named = recipient::Column::NotificationId.among(txn, ids);
    Recipient::delete_of_tenant(tenant.id).filter(named).exec(txn).await?;
    Ok(())
}

/// Locks a notification's row in the schedule. Returns false if it has none (any more).
pub(super) async fn lock(txn: &Transaction, tenant: &Tenant, id: i64) -> Result<bool> {
    let place = Schedule::of_tenant(tenant.id).filter(Column::NotificationId.eq(id)).for_update(txn);
    Ok(place.one(txn).await?.is_some())
}

/// Reschedules a notification. Its row in the schedule is locked.
pub(super) async fn postpone(txn: &Transaction, tenant: &Tenant, id: i64, to: Millis) -> Result<()> {
    let place = Schedule::update_of_tenant(tenant.id).filter(Column::NotificationId.eq(id));
    place.col_expr(Column::PublishAt, Expr::val(to)).exec(txn).await?;
    Ok(())
}

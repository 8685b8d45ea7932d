//! Scheduled notifications: kept until their time, then published like any other, with the audience of that moment.

use entity::ids::{Seq, TenantId};
use sea_orm::{ConnectionTrait, Value};
use tracing::Instrument;

use super::draft::Draft;
use super::envelope::Envelope;
use super::publish::{self, Publication};
use super::write::{self, Take};
use super::{Kind, Notification, read, select, tell};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::{self, Tenant};
use crate::error::Result;
use crate::hub::Notice;
use crate::metrics::Published;
use crate::sql::{Existing, Rows, Sql, insert};

/// Notifications of one transaction.
const NOTIFICATIONS: i64 = 200;

/// Keeps those of the drafts that are not for now, and whom they name.
pub(super) async fn keep(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    written: &[Notification],
) -> Result<()> {
    let (mut times, mut named): (Vec<Vec<Value>>, Vec<Vec<Value>>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written) {
        let Some(publish_at) = draft.publish_at else { continue };
        times.push(vec![tenant.id.into(), of.id.into(), publish_at.into()]);
        if of.kind == Kind::Announcement {
            let users = draft.envelope.named().iter();
            named.extend(users.map(|user| vec![tenant.id.into(), of.id.into(), (*user).into()]));
        }
    }
    let columns = &["tenant_id", "notification_id", "publish_at"];
    insert(txn, Rows { table: "schedule", columns, values: times }, Existing::Refused).await?;
    let columns = &["tenant_id", "notification_id", "user_id"];
    insert(txn, Rows { table: "recipient", columns, values: named }, Existing::Refused).await?;
    Ok(())
}

/// Publishes what is due, of all tenants, the longest overdue first. Returns how many.
///
/// Whoever deletes the row of the schedule publishes, in the same transaction: so exactly one node does, and none of it
/// is half done when a node dies. Safe on all nodes at once.
pub async fn publish_due(app: &App) -> Result<usize> {
    let mut published = 0;
    while let Some(tenant) = first_due(app).await? {
        let tenant = tenant::by_id(app, tenant).await?;
        let catalogue = catalogue::current(app, &tenant).await?;
        // Nothing where the catalogue has changed meanwhile: then once more, by the new one.
        let span = tracing::debug_span!(target: "tidings::trace", "publish_due");
        let some = async { transaction!(app.db, |txn| publish_some(txn, app, &tenant, &catalogue).await) };
        if let Some((kinds, notice)) = some.instrument(span).await? {
            tell(app, &tenant, notice);
            for kind in &kinds {
                app.metrics.published.get_or_create(&Published { kind: kind.name() }).inc();
            }
            published += kinds.len();
        }
    }
    Ok(published)
}

async fn first_due(app: &App) -> Result<Option<TenantId>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT s.tenant_id FROM schedule s WHERE s.publish_at <= ").bind(app.now());
    sql.push(" ORDER BY s.publish_at LIMIT 1");
    sql.one(&app.db.read).await?.map(|row| Ok(row.try_get("", "tenant_id")?)).transpose()
}

async fn publish_some(
    txn: &Transaction,
    app: &App,
    tenant: &Tenant,
    catalogue: &Catalogue,
) -> Result<Option<(Vec<Kind>, Notice)>> {
    let now = app.now();
    let ids = claim(txn, tenant, now).await?;
    if ids.is_empty() {
        return Ok(Some((Vec::new(), Notice::of(tenant.id))));
    }
    let due = load(txn, tenant, catalogue, &ids).await?;
    let envelopes: Vec<&Envelope> = due.iter().map(|(_, envelope)| envelope).collect();
    let channels = publish::listened(txn, tenant, &envelopes).await?;
    let take = Take { seqs: due.len(), ids: 0, catalogue_version: catalogue.version };
    let Some(head) = write::take(txn, tenant, take, now).await? else { return Ok(None) };
    let mut all = Vec::with_capacity(due.len());
    for (seq, (id, envelope)) in (head.first_seq..).map(Seq).zip(&due) {
        let expires_at = envelope.expires_at(head.published_at);
        all.push(Publication { envelope, seq, expires_at });
        let mut sql = Sql::new(txn);
        sql.push("UPDATE notification SET seq = ").bind(seq).push(", published_at = ").bind(head.published_at);
        sql.push(", expires_at = ").bind(expires_at).push(", delivered_count = COALESCE(audience_size, 0)");
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND id = ").bind(*id);
        sql.run(txn).await?;
    }
    let notice = publish::publish(txn, tenant, &all, &channels).await?;
    forget(txn, tenant, &ids).await?;
    let kinds = due.iter().map(|(_, envelope)| envelope.kind).collect();
    Ok(Some((kinds, notice)))
}

/// Locks the rows of what is due, so that another node waits, and then does not find them any more.
async fn claim(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<Vec<i64>> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.notification_id FROM schedule s WHERE s.tenant_id = ").bind(tenant.id);
    sql.push(" AND s.publish_at <= ").bind(now).push(" ORDER BY s.publish_at, s.notification_id LIMIT ");
    sql.bind(NOTIFICATIONS).for_update();
    sql.all(txn).await?.iter().map(|row| Ok(row.try_get("", "notification_id")?)).collect()
}

/// What publishing must know of the notifications, in the order of their numbers given.
async fn load(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    catalogue: &Catalogue,
    ids: &[i64],
) -> Result<Vec<(i64, Envelope)>> {
    let mut sql = select(db, tenant);
    sql.push(" AND n.id").in_ids(ids);
    let mut loaded = Vec::with_capacity(ids.len());
    for row in sql.all(db).await? {
        let of = read(&row, catalogue)?;
        loaded.push((of.id, Envelope::scheduled(db, tenant, catalogue, &of, &row).await?));
    }
    loaded.sort_by_key(|(id, _)| ids.iter().position(|of| of == id));
    Ok(loaded)
}

/// Takes notifications out of the schedule, and forgets whom they name.
pub(super) async fn forget(txn: &Transaction, tenant: &Tenant, ids: &[i64]) -> Result<()> {
    for table in ["schedule", "recipient"] {
        let mut sql = Sql::new(txn);
        sql.push(&format!("DELETE FROM {table} WHERE tenant_id = ")).bind(tenant.id);
        sql.push(" AND notification_id").in_ids(ids);
        sql.run(txn).await?;
    }
    Ok(())
}

/// Locks a notification's place in the schedule; false where it has none (any more).
pub(super) async fn lock(txn: &Transaction, tenant: &Tenant, id: i64) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT s.publish_at FROM schedule s WHERE s.tenant_id = ").bind(tenant.id);
    sql.push(" AND s.notification_id = ").bind(id).for_update();
    Ok(sql.one(txn).await?.is_some())
}

/// Moves a notification whose place is locked.
pub(super) async fn postpone(txn: &Transaction, tenant: &Tenant, id: i64, to: Millis) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE schedule SET publish_at = ").bind(to).push(" WHERE tenant_id = ").bind(tenant.id);
    sql.push(" AND notification_id = ").bind(id);
    sql.run(txn).await?;
    Ok(())
}

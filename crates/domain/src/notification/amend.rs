//! Amending and retracting: one log entry for an audience of any size. Every inbox applies it at its next sync, which
//! precedes every read.

use entity::amendment::{self, Entity as Amendment};
use entity::ids::Seq;
use entity::notification::{self, Column, Entity as Notifications};
use entity::prelude::*;
use entity::publication::{self, Entity as Publications};
use entity::tenant::{self, Entity as Tenants};
use sea_orm::sea_query::ExprTrait;

use super::draft::{check_instants, expiry_time};
use super::{
    Notification, NotificationContent, NotificationRow, NotificationState, change_webhooks, find_by_id, schedule,
    select_rows,
};
use crate::catalogue::{self, Catalogue};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::content::ContentChange;
use store::{Store, Transaction, transaction};

/// A change of a notification.
#[derive(Clone, Debug, Default)]
pub struct NotificationChange {
    pub content: ContentChange,
    /// Only while it is scheduled. A time that is not in the future means at once.
    pub publish_at: Option<Millis>,
    /// `Some(None)` sets it by the ttl of the type again.
    pub expires_at: Option<Option<Millis>>,
}

/// Changes a scheduled or published notification and returns it; `None` if it does not exist. `CONFLICT` if it is
/// retracted or has expired.
pub async fn update(
    store: &Store,
    tenant: &Tenant,
    id: i64,
    patch: &NotificationChange,
) -> Result<Option<Notification>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let end = transaction!(store.db, |txn| update_within(txn, store, tenant, &catalogue, (id, patch)).await)?;
    tenant.observe_log_end(end.unwrap_or_default());
    find_by_id(store, tenant, id).await
}

/// Like [`update`], inside a transaction. Returns the seq of the log entry, if there is one.
pub(super) async fn update_within(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    (id, patch): (i64, &NotificationChange),
) -> Result<Option<Seq>> {
    let is_scheduled = schedule::lock_schedule(txn, tenant, id).await?;
    let Some(of) = lock_notification(txn, tenant, catalogue, id).await? else { return Ok(None) };
    let now = store.now();
    match of.status(now) {
        NotificationState::Retracted => return Err(Error::Conflict("the notification is retracted".into())),
        NotificationState::Expired => return Err(Error::Conflict("the notification has expired".into())),
        NotificationState::Scheduled if is_scheduled => {}
        NotificationState::Scheduled => return Err(Error::Unavailable("the notification is being published".into())),
        NotificationState::Published if patch.publish_at.is_some() => {
            return Err(Error::Conflict("publishAt: the notification is already published".into()));
        }
        NotificationState::Published => {}
    }
    apply_patch(txn, tenant, of, patch, now).await
}

/// Removes a notification from every inbox, or cancels it before its publication, and returns it; `None` if it does not
/// exist. Idempotent.
pub async fn retract(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let end = transaction!(store.db, |txn| retract_within(txn, store, tenant, &catalogue, id).await)?;
    tenant.observe_log_end(end.unwrap_or_default());
    find_by_id(store, tenant, id).await
}

/// Like [`retract`], inside a transaction. Returns the seq of the log entry, if there is one.
pub async fn retract_within(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    id: i64,
) -> Result<Option<Seq>> {
    schedule::lock_schedule(txn, tenant, id).await?;
    let Some(of) = lock_notification(txn, tenant, catalogue, id).await? else { return Ok(None) };
    if of.retracted_at.is_some() {
        return Ok(None);
    }
    let retract = Notifications::update_of_tenant(tenant.id).filter(Column::Id.eq(id));
    retract.col_expr(Column::RetractedAt, Expr::val(store.now())).exec(txn).await?;
    let Some(seq) = of.seq else {
        schedule::delete_schedule(txn, tenant, &[id]).await?;
        return Ok(None);
    };
    // An inbox that has not synced it yet never does.
    let publications = Publications::update_of_tenant(tenant.id).filter(publication::Column::Seq.eq(seq));
    publications.col_expr(publication::Column::ExpiresAt, Expr::val(0_i64)).exec(txn).await?;
    append_amendment(txn, tenant, seq).await
}

/// Locks a notification against other amendments, and reads it.
async fn lock_notification(
    txn: &Transaction,
    tenant: &Tenant,
    catalogue: &Catalogue,
    id: i64,
) -> Result<Option<Notification>> {
    let this = Notifications::of_tenant(tenant.id).filter(Column::Id.eq(id)).for_update(txn);
    if this.select_only().column(Column::Id).into_tuple::<i64>().one(txn).await?.is_none() {
        return Ok(None);
    }
    let this: Option<NotificationRow> = select_rows(tenant).filter(Column::Id.eq(id)).into_model().one(txn).await?;
    this.map(|row| row.into_notification(catalogue)).transpose()
}

/// Returns the seq of the log entry, if there is one.
async fn apply_patch(
    txn: &Transaction,
    tenant: &Tenant,
    of: Notification,
    patch: &NotificationChange,
    now: Millis,
) -> Result<Option<Seq>> {
    let expires_at = match patch.expires_at {
        None => of.expires_at,
        // The time of a log entry may be slightly in the future.
        Some(said) => of.published_at.map_or(said, |at| expiry_time(said, &of.message_type, Ord::min(at, now))),
    };
    let publish_at = patch.publish_at.map(|at| Ord::max(at, now)).or(of.publish_at);
    check_instants(if of.seq.is_none() { publish_at } else { None }, expires_at, now)?;
    let is_new_text = patch.content != ContentChange::default();
    let content = of.content.clone().with_change(patch.content.clone());
    content.check(&of.message_type)?;

    write_changes(txn, tenant, &of, &content, (publish_at, expires_at), is_new_text.then_some(now)).await?;
    let Some(seq) = of.seq else {
        if let Some(publish_at) = patch.publish_at {
            schedule::reschedule(txn, tenant, of.id, publish_at).await?;
        }
        return Ok(None);
    };
    // The text is stored once, in the notification. The new version makes readers that have cached it read it again.
    if is_new_text {
        let version = tenant::Column::TextVersion;
        Tenants::update_of_tenant(tenant.id).col_expr(version, next_version(version, now)).exec(txn).await?;
    }
    if expires_at != of.expires_at {
        let publications = Publications::update_of_tenant(tenant.id).filter(publication::Column::Seq.eq(seq));
        publications.col_expr(publication::Column::ExpiresAt, Expr::val(expires_at)).exec(txn).await?;
        return append_amendment(txn, tenant, seq).await;
    }
    if is_new_text {
        change_webhooks::record_text_amendment(txn, tenant, of.id, now).await?;
    }
    txn.notify(Notice { items: vec![seq], ..Notice::for_tenant(tenant.id) });
    Ok(None)
}

async fn write_changes(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Notification,
    content: &NotificationContent,
    (publish_at, expires_at): (Option<Millis>, Option<Millis>),
    updated_at: Option<Millis>,
) -> Result<()> {
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    let change = Notifications::update_of_tenant(tenant.id).set(notification::ActiveModel {
        title: Set(content.title.clone()),
        body: Set(content.body.clone()),
        link: Set(content.link.clone()),
        params: Set(json(&content.params)),
        data: Set(json(&content.data)),
        publish_at: Set(publish_at),
        expires_at: Set(expires_at),
        updated_at: Set(updated_at.or(of.updated_at)),
        ..Default::default()
    });
    change.filter(Column::Id.eq(of.id)).exec(txn).await?;
    Ok(())
}

/// Appends a log entry that says that the notification at `subject` has changed, and returns its seq.
async fn append_amendment(txn: &Transaction, tenant: &Tenant, subject: Seq) -> Result<Option<Seq>> {
    let next = Expr::col(tenant::Column::LastSeq).add(1);
    // In this order: MySQL sees columns as already set by earlier assignments.
    let take = Tenants::update_of_tenant(tenant.id).col_expr(tenant::Column::AmendedSeq, next.clone());
    take.col_expr(tenant::Column::LastSeq, next).exec(txn).await?;
    let end = Tenants::of_tenant(tenant.id).select_only().column(tenant::Column::LastSeq).into_tuple().one(txn).await?;
    let seq: Seq = end.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    let row = amendment::ActiveModel { tenant_id: Set(tenant.id), seq: Set(seq), subject_seq: Set(subject) };
    Amendment::insert(row).exec_without_returning(txn).await?;
    txn.notify(Notice { seqs: vec![(seq, seq)], items: vec![subject], ..Notice::for_tenant(tenant.id) });
    Ok(Some(seq))
}

//! Notifications: stored once each, however many users they reach.

mod alarm;
mod amend;
mod audience;
mod change_webhooks;
mod draft;
mod explain;
mod idempotency;
mod import;
mod input;
mod list;
mod publish;
mod queries;
mod recipient_view;
mod schedule;
mod send;
mod send_for_rule;
mod send_rate;
mod strict;

use entity::action;
pub use entity::notification::NotificationKind;
use entity::notification::{self, Column, Entity as Notifications, Relation};
use entity::prelude::*;
use sea_orm::Select;

use super::catalogue::{self, Catalogue};
use super::channel::ActionTarget;
use super::tenant::Tenant;
pub use alarm::{check_alarm, prepare_alarm};
pub use amend::{NotificationChange, retract, retract_within, update};
pub use audience::{AudienceEstimate, audience_size};
use base::error::{Error, Result};
pub use explain::{ConditionResult, DecidingReason, Explanation, InboxCondition, explain};
use idempotency::EarlierSend;
pub use idempotency::OF_USERS;
pub use import::{ImportCounts, SeenMessages, find_invalid, import_messages, preview_import};
pub use input::{Addressees, ImportedState, NotificationInput};
pub use list::{NotificationPage, SearchBudget, SentFilter, list_by_sender, list_page};
use model::actor::StaffActor;
pub use model::content::{ContentChange, NotificationContent};
pub use model::notification::{DirectAudience, Notification, NotificationState, RuleOrigin};
pub use recipient_view::{DisplayedNotifications, load_for_display, render_content};
pub use schedule::publish_due;
pub use send::{OutdatedCatalogue, SendResult, send};
pub use send_for_rule::{PreparedSend, check_sendable, prepare_send, record_sent, send_prepared, update_params};
pub use send_rate::{SendRate, load_send_rate};
use store::Store;

/// The notification with this number.
pub async fn find_by_id(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    Ok(load_by_ids(store, tenant, &[id]).await?.pop())
}

/// The notifications of a tenant with these numbers, in any order.
pub async fn load_by_ids(store: &Store, tenant: &Tenant, ids: &[i64]) -> Result<Vec<Notification>> {
    let db = &store.db.read;
    let stored: Vec<NotificationRow> =
        select_rows(tenant).filter(Column::Id.is_in_list(db, ids)).into_model().all(db).await?;
    let catalogue = catalogue::load_current(store, tenant).await?;
    stored.into_iter().map(|row| row.into_notification(&catalogue)).collect()
}

/// A stored notification with the code of its action.
#[derive(FromQueryResult)]
struct NotificationRow {
    #[sea_orm(nested)]
    of: notification::Model,
    action: Option<String>,
}

/// Selects a tenant's notifications as [`NotificationRow`]s. Callers add conditions.
fn select_rows(tenant: &Tenant) -> Select<Notifications> {
    let stored = Notifications::of_tenant(tenant.id).join(JoinType::LeftJoin, Relation::Action.def());
    stored.column_as(action::Column::Code, "action")
}

impl NotificationRow {
    fn into_notification(self, catalogue: &Catalogue) -> Result<Notification> {
        let Self { of, action } = self;
        let json =
            |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal);
        let message_type = catalogue.type_by_id(of.type_id).cloned();
        Ok(Notification {
            id: of.id,
            seq: of.seq,
            kind: of.kind,
            message_type: message_type
                .ok_or_else(|| Error::internal(format!("message type {} is not in the catalogue", of.type_id)))?,
            content: NotificationContent {
                title: of.title,
                body: of.body,
                link: of.link,
                params: json(of.params)?,
                data: json(of.data)?,
            },
            sender: of.sender_id,
            receiver: of.receiver_id,
            target: of.target_type.zip(of.target_id).map(|(target_type, id)| ActionTarget { target_type, id }),
            action,
            audience: serde_json::from_str(&of.audience).map_err(Error::internal)?,
            created_at: of.created_at,
            publish_at: of.publish_at,
            published_at: of.published_at,
            expires_at: of.expires_at,
            updated_at: of.updated_at,
            retracted_at: of.retracted_at,
            audience_size: of.audience_size,
            delivered_count: of.delivered_count,
            read_count: of.read_count,
            raised: parse_raised(of.rule, of.row_key.as_deref())?,
            sent_by: of.sent_by.as_deref().and_then(StaffActor::parse_stored),
        })
    }
}

fn parse_raised(rule: Option<String>, key: Option<&str>) -> Result<Option<RuleOrigin>> {
    let Some((rule, key)) = rule.zip(key) else { return Ok(None) };
    Ok(Some(RuleOrigin { rule, key: serde_json::from_str(key).map_err(Error::internal)? }))
}

/// The notifications sent under these stored idempotency keys, each with its key.
async fn find_by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> Result<Vec<(String, EarlierSend)>> {
    let mut found = Vec::new();
    for keys in keys.chunks(LIST) {
        let some = queries::select_by_keys(db, tenant, keys).fetch_by_name::<queries::KeyedNotification>(db).await?;
        let kept = |of: queries::KeyedNotification| {
            (of.idempotency_key, EarlierSend { id: of.id, fingerprint: of.fingerprint, publish_at: of.publish_at })
        };
        found.extend(some.into_iter().map(kept));
    }
    Ok(found)
}

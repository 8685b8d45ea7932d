//! Writes payloads from the current state of an event's subject.

use std::collections::HashMap;

use chrono::SecondsFormat;
use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;
use serde_json::{Map, Value, json};

use super::read_batches::{self, ReadReceipt};
use super::{Delivery, DeliveryEvent, Endpoint};
use crate::destination::PreparedDelivery;
use base::clock::{Millis, to_date_time};
use base::error::{Error, Result};
use domain::notification::{self, DirectAudience, DisplayedNotifications, Notification, NotificationKind};
use domain::tenant::Tenant;
use model::delivery::event_name;
use model::id_cipher;
use store::Store;

/// Prepares deliveries, in their order, with a few statements for all.
pub(super) async fn prepare_payloads(
    store: &Store,
    tenant: &Tenant,
    endpoint: &Endpoint,
    deliveries: &[Delivery],
) -> Result<Vec<PreparedDelivery<Vec<u8>>>> {
    let about = |events: &[DeliveryEvent]| {
        let of = deliveries.iter().filter(|of| events.contains(&of.event));
        let mut ids: Vec<i64> = of.filter_map(|of| of.subject_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let all = notification::load_for_display(store, tenant, &about(&DeliveryEvent::OF_NOTIFICATIONS)).await?;
    let told = NotificationData { all, is_full: endpoint.is_full };
    let read = read_batches::load_batches(store, tenant, &about(&[DeliveryEvent::Read])).await?;
    let off = about(&[DeliveryEvent::Disabled]);
    let disabled = Destinations::of_tenant(tenant.id).filter(Column::Id.is_in_list(&store.db.read, &off));
    let disabled: Vec<Endpoint> = if off.is_empty() { Vec::new() } else { disabled.all(&store.db.read).await? };
    let disabled: HashMap<i64, Endpoint> = disabled.into_iter().map(|of| (of.id, of)).collect();
    let one = |of: &Delivery| {
        let data = match (of.event, of.subject_id) {
            (DeliveryEvent::Ping, _) => Some(json!({ "endpoint": endpoint_id(tenant, endpoint.id) })),
            (DeliveryEvent::Read, Some(id)) => read.get(&id).map(|batch| read_items_data(tenant, batch)),
            (DeliveryEvent::Disabled, Some(id)) => disabled.get(&id).map(|of| endpoint_data(tenant, of)),
            (event, Some(id)) => match told.event_data(tenant, event, id, store.now()) {
                Ok(data) => Some(data),
                Err(PreparedDelivery::Ready(()) | PreparedDelivery::Dropped) => None,
                Err(PreparedDelivery::Later(at)) => return Ok(PreparedDelivery::Later(at)),
            },
            (_, None) => None,
        };
        let Some(data) = data else { return Ok(PreparedDelivery::Dropped) };
        let body = json!({ "type": event_name(of.event), "timestamp": format_instant(of.happened_at), "data": data });
        serde_json::to_vec(&body).map(PreparedDelivery::Ready).map_err(Error::internal)
    };
    deliveries.iter().map(one).collect()
}

fn format_instant(at: Millis) -> String {
    to_date_time(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn format_optional_instant(at: Option<Millis>) -> Value {
    at.map(format_instant).into()
}

fn endpoint_id(tenant: &Tenant, id: i64) -> String {
    tenant.id_cipher.encode(id_cipher::IdKind::Destination, 0, id)
}

fn endpoint_data(tenant: &Tenant, of: &Endpoint) -> Value {
    json!({
        "endpoint": endpoint_id(tenant, of.id),
        "failingSince": format_optional_instant(of.failing_since),
        "lastStatus": of.last_status,
        "lastError": of.last_error,
    })
}

fn read_items_data(tenant: &Tenant, batch: &[ReadReceipt]) -> Value {
    let item = |of: &ReadReceipt| {
        let notification = tenant.id_cipher.encode(id_cipher::IdKind::Notification, 0, of.notification);
        json!({ "notification": notification, "user": of.user, "at": format_instant(of.at) })
    };
    json!({ "items": batch.iter().map(item).collect::<Vec<_>>() })
}

/// Notifications, and whether payloads include their content.
struct NotificationData {
    all: DisplayedNotifications,
    is_full: bool,
}

impl NotificationData {
    /// The payload's data, or how else the delivery is handled.
    fn event_data(
        &self,
        tenant: &Tenant,
        event: DeliveryEvent,
        id: i64,
        now: Millis,
    ) -> Result<Value, PreparedDelivery<()>> {
        let of = self.all.get(id).ok_or(PreparedDelivery::Dropped)?;
        if event == DeliveryEvent::Expired {
            match of.expires_at.filter(|_| of.retracted_at.is_none()) {
                None => return Err(PreparedDelivery::Dropped),
                Some(at) if at > now => return Err(PreparedDelivery::Later(at)),
                Some(_) => {}
            }
        }
        let mut data = self.routing_fields(tenant, of);
        if self.is_full {
            data.insert("content".into(), self.content_data(of));
        }
        Ok(data.into())
    }

    fn routing_fields(&self, tenant: &Tenant, of: &Notification) -> Map<String, Value> {
        let target = of.target.as_ref().map(|target| json!({ "type": target.target_type, "externalId": target.id }));
        Map::from_iter([
            ("id".into(), tenant.id_cipher.encode(id_cipher::IdKind::Notification, 0, of.id).into()),
            ("kind".into(), kind_name(of.kind).into()),
            ("type".into(), of.message_type.code.as_str().into()),
            ("target".into(), target.into()),
            ("action".into(), of.action.as_deref().into()),
            ("sender".into(), self.all.external_id(of.sender).into()),
            ("receiver".into(), self.all.external_id(of.receiver).into()),
            ("audience".into(), audience_data(&of.audience)),
            ("rule".into(), of.raised.as_ref().map(|raised| raised.rule.as_str()).into()),
            ("rowKey".into(), of.raised.as_ref().map(|raised| raised.key.clone()).map(Value::Object).into()),
            ("createdAt".into(), format_instant(of.created_at).into()),
            ("publishedAt".into(), format_optional_instant(of.published_at)),
            ("updatedAt".into(), format_optional_instant(of.updated_at)),
            ("expiresAt".into(), format_optional_instant(of.expires_at)),
            ("retractedAt".into(), format_optional_instant(of.retracted_at)),
        ])
    }

    /// The content as readers see it.
    fn content_data(&self, of: &Notification) -> Value {
        let shown = self.all.render_content(of);
        json!({ "title": shown.title(), "body": shown.body(), "link": shown.link(), "data": shown.data })
    }
}

fn kind_name(of: NotificationKind) -> &'static str {
    match of {
        NotificationKind::Announcement => "ANNOUNCEMENT",
        NotificationKind::Reminder => "REMINDER",
        NotificationKind::Message => "MESSAGE",
    }
}

fn audience_data(of: &DirectAudience) -> Value {
    json!({ "everyone": of.everyone, "groups": of.groups, "userCount": of.users })
}

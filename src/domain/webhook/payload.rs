//! Writes payloads from the current state of an event's subject.

use std::collections::HashMap;

use chrono::SecondsFormat;
use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;
use serde_json::{Map, Value, json};

use super::items::{self, Read};
use super::{Delivery, Endpoint, Event};
use crate::app::App;
use crate::clock::{Millis, calendar};
use crate::domain::lane::Prepared;
use crate::domain::notification::{self, Audience, Kind, Notification, Shown};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::delivery::name;
use crate::model::seal;

/// Prepares deliveries, in their order, with a few statements for all.
pub(super) async fn prepare(
    app: &App,
    tenant: &Tenant,
    endpoint: &Endpoint,
    deliveries: &[Delivery],
) -> Result<Vec<Prepared<Vec<u8>>>> {
    let about = |events: &[Event]| {
        let of = deliveries.iter().filter(|of| events.contains(&of.event));
        let mut ids: Vec<i64> = of.filter_map(|of| of.subject_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let all = notification::shown(app, tenant, &about(&Event::OF_NOTIFICATIONS)).await?;
    let told = Told { all, is_full: endpoint.is_full };
    let read = items::batches(app, tenant, &about(&[Event::Read])).await?;
    let off = about(&[Event::Disabled]);
    let disabled = Lanes::of_tenant(tenant.id).filter(Column::Id.among(&app.db.read, &off));
    let disabled: Vec<Endpoint> = if off.is_empty() { Vec::new() } else { disabled.all(&app.db.read).await? };
    let disabled: HashMap<i64, Endpoint> = disabled.into_iter().map(|of| (of.id, of)).collect();
    let one = |of: &Delivery| {
        let data = match (of.event, of.subject_id) {
            (Event::Ping, _) => Some(json!({ "endpoint": endpoint_id(tenant, endpoint.id) })),
            (Event::Read, Some(id)) => read.get(&id).map(|batch| about_items(tenant, batch)),
            (Event::Disabled, Some(id)) => disabled.get(&id).map(|of| about_endpoint(tenant, of)),
            (event, Some(id)) => match told.of(tenant, event, id, app.now()) {
                Ok(data) => Some(data),
                Err(Prepared::Ready(()) | Prepared::Dropped) => None,
                Err(Prepared::Later(at)) => return Ok(Prepared::Later(at)),
            },
            (_, None) => None,
        };
        let Some(data) = data else { return Ok(Prepared::Dropped) };
        let body = json!({ "type": name(of.event), "timestamp": instant(of.happened_at), "data": data });
        serde_json::to_vec(&body).map(Prepared::Ready).map_err(Error::internal)
    };
    deliveries.iter().map(one).collect()
}

fn instant(at: Millis) -> String {
    calendar(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn instant_or_none(at: Option<Millis>) -> Value {
    at.map(instant).into()
}

fn endpoint_id(tenant: &Tenant, id: i64) -> String {
    tenant.seal.close(seal::Kind::Lane, 0, id)
}

fn about_endpoint(tenant: &Tenant, of: &Endpoint) -> Value {
    json!({
        "endpoint": endpoint_id(tenant, of.id),
        "failingSince": instant_or_none(of.failing_since),
        "lastStatus": of.last_status,
        "lastError": of.last_error,
    })
}

fn about_items(tenant: &Tenant, batch: &[Read]) -> Value {
    let item = |of: &Read| {
        let notification = tenant.seal.close(seal::Kind::Notification, 0, of.notification);
        json!({ "notification": notification, "user": of.user, "at": instant(of.at) })
    };
    json!({ "items": batch.iter().map(item).collect::<Vec<_>>() })
}

/// Notifications, and whether payloads include their content.
struct Told {
    all: Shown,
    is_full: bool,
}

impl Told {
    /// The payload's data, or how else the delivery is handled.
    fn of(&self, tenant: &Tenant, event: Event, id: i64, now: Millis) -> Result<Value, Prepared<()>> {
        let of = self.all.of(id).ok_or(Prepared::Dropped)?;
        if event == Event::Expired {
            match of.expires_at.filter(|_| of.retracted_at.is_none()) {
                None => return Err(Prepared::Dropped),
                Some(at) if at > now => return Err(Prepared::Later(at)),
                Some(_) => {}
            }
        }
        let mut data = self.thin(tenant, of);
        if self.is_full {
            data.insert("content".into(), self.content(of));
        }
        Ok(data.into())
    }

    fn thin(&self, tenant: &Tenant, of: &Notification) -> Map<String, Value> {
        let target = of.target.as_ref().map(|target| json!({ "type": target.target_type, "externalId": target.id }));
        Map::from_iter([
            ("id".into(), tenant.seal.close(seal::Kind::Notification, 0, of.id).into()),
            ("kind".into(), kind(of.kind).into()),
            ("type".into(), of.message_type.code.as_str().into()),
            ("target".into(), target.into()),
            ("action".into(), of.action.as_deref().into()),
            ("sender".into(), self.all.external_id(of.sender).into()),
            ("receiver".into(), self.all.external_id(of.receiver).into()),
            ("audience".into(), audience(&of.audience)),
            ("rule".into(), of.raised.as_ref().map(|raised| raised.rule.as_str()).into()),
            ("rowKey".into(), of.raised.as_ref().map(|raised| raised.key.clone()).map(Value::Object).into()),
            ("createdAt".into(), instant(of.created_at).into()),
            ("publishedAt".into(), instant_or_none(of.published_at)),
            ("updatedAt".into(), instant_or_none(of.updated_at)),
            ("expiresAt".into(), instant_or_none(of.expires_at)),
            ("retractedAt".into(), instant_or_none(of.retracted_at)),
        ])
    }

    /// The content as readers see it.
    fn content(&self, of: &Notification) -> Value {
        let shown = self.all.content(of);
        json!({ "title": shown.title(), "body": shown.body(), "link": shown.link(), "data": shown.data })
    }
}

fn kind(of: Kind) -> &'static str {
    match of {
        Kind::Announcement => "ANNOUNCEMENT",
        Kind::Reminder => "REMINDER",
        Kind::Message => "MESSAGE",
    }
}

fn audience(of: &Audience) -> Value {
    json!({ "everyone": of.everyone, "groups": of.groups, "userCount": of.users })
}

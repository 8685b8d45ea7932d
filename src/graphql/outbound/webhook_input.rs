//! Inputs of webhook endpoints.

use async_graphql::{Enum, InputObject};

use crate::graphql::patch::FieldPatch;
use base::error::Result;
use delivery::webhook::{self, EndpointChange};
use model::alarm::AlarmTarget;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "webhook::DeliveryEvent")]
pub enum WebhookEvent {
    /// `notification.published`: a notification was sent, or became due.
    #[graphql(name = "NOTIFICATION_PUBLISHED")]
    Published,
    /// `notification.retracted`: a published notification was retracted.
    #[graphql(name = "NOTIFICATION_RETRACTED")]
    Retracted,
    /// `notification.amended`: its text or expiry changed.
    #[graphql(name = "NOTIFICATION_AMENDED")]
    Amended,
    /// `notification.expired`: its `expiresAt` passed.
    #[graphql(name = "NOTIFICATION_EXPIRED")]
    Expired,
    /// `endpoint.disabled`: another endpoint of the tenant was disabled.
    #[graphql(name = "ENDPOINT_DISABLED")]
    Disabled,
    /// `test.ping`: a test by `testWebhookEndpoint`. Every endpoint receives it.
    #[graphql(name = "TEST_PING")]
    Ping,
    /// `item.read`: users read items. One event has up to 1,000 items and comes up to a minute later.
    #[graphql(name = "ITEM_READ")]
    Read,
    /// A user's digest is due. For mail only: an endpoint cannot receive it.
    Digest,
}

/// An announcement to a group.
#[derive(InputObject)]
pub struct OutboundAlarmInput {
    /// Code of the message type.
    #[graphql(name = "type")]
    pub message_type: String,
    /// Code of the group.
    #[graphql(default_with = r#"Some("operators".to_owned())"#)]
    pub group: Option<String>,
}

impl From<OutboundAlarmInput> for AlarmTarget {
    fn from(input: OutboundAlarmInput) -> Self {
        Self { message_type: input.message_type, group: input.group.unwrap_or_else(|| "operators".to_owned()) }
    }
}

/// A new webhook endpoint.
#[derive(InputObject)]
pub struct CreateWebhookEndpointInput {
    /// Absolute https URL of at most 2,048 bytes, without user name, password and fragment. Its host must be public,
    /// or allowed by `TIDINGS_EGRESS_ALLOW`.
    pub url: String,
    /// The events to receive, 20 entries at most. Default: published, amended and retracted.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whether events contain the texts of notifications as readers see them. Default: only ids, types, targets and
    /// times.
    #[graphql(default_with = "Some(false)")]
    pub full: Option<bool>,
    /// Sent when the endpoint is disabled. Default: only the log and the metrics report it.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<CreateWebhookEndpointInput> for EndpointChange {
    fn from(input: CreateWebhookEndpointInput) -> Self {
        Self {
            url: Some(input.url),
            events: input.events.map(into_events),
            is_full: input.full,
            alarm: input.alarm.map(|alarm| Some(alarm.into())),
        }
    }
}

pub fn into_events(all: Vec<WebhookEvent>) -> Vec<webhook::DeliveryEvent> {
    all.into_iter().map(Into::into).collect()
}

/// Fields of an endpoint that can be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WebhookEndpointField {
    /// `alarm`.
    Alarm,
}

/// Changes to an endpoint. Absent and null fields stay.
#[derive(InputObject)]
pub struct UpdateWebhookEndpointInput {
    /// As for a new endpoint. A new URL is tried at once, in any state of the previous one.
    pub url: Option<String>,
    /// All events to receive from now on, 20 entries at most.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whether events contain the texts of notifications.
    pub full: Option<bool>,
    /// Sent when the endpoint is disabled.
    pub alarm: Option<OutboundAlarmInput>,
    /// Fields to erase. `BAD_USER_INPUT` if one is also given.
    pub clear: Option<Vec<WebhookEndpointField>>,
}

impl UpdateWebhookEndpointInput {
    pub fn into_change(self) -> Result<EndpointChange> {
        let patching = FieldPatch::from_cleared(self.clear);
        Ok(EndpointChange {
            url: self.url,
            events: self.events.map(into_events),
            is_full: self.full,
            alarm: patching.field_change(WebhookEndpointField::Alarm, self.alarm.map(Into::into))?,
        })
    }
}

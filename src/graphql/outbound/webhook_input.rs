//! What endpoints of webhooks are made of.

use async_graphql::{Enum, InputObject};

use crate::domain::webhook::{self, Change};
use crate::error::Result;
use crate::graphql::patch::Patching;
use crate::model::alarm::Alarm;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "webhook::Event")]
pub enum WebhookEvent {
    /// `notification.published`: at once, or when it was due.
    #[graphql(name = "NOTIFICATION_PUBLISHED")]
    Published,
    /// `notification.retracted`: taken back after it was published.
    #[graphql(name = "NOTIFICATION_RETRACTED")]
    Retracted,
    /// `notification.amended`: its text or expiry is another.
    #[graphql(name = "NOTIFICATION_AMENDED")]
    Amended,
    /// `notification.expired`.
    #[graphql(name = "NOTIFICATION_EXPIRED")]
    Expired,
    /// `endpoint.disabled`: another endpoint of the tenant was given up.
    #[graphql(name = "ENDPOINT_DISABLED")]
    Disabled,
    /// `test.ping`: somebody tries the endpoint (`testWebhookEndpoint`). Every endpoint gets it.
    #[graphql(name = "TEST_PING")]
    Ping,
    /// `item.read`: users have read items, up to 1,000 of them in one, up to a minute later.
    #[graphql(name = "ITEM_READ")]
    Read,
    /// The hour of a user's digest has come. Of letters alone: no endpoint may want it.
    Digest,
}

/// An announcement to a group.
#[derive(InputObject)]
pub struct OutboundAlarmInput {
    /// Code of its message type.
    #[graphql(name = "type")]
    pub message_type: String,
    /// Code of the group.
    #[graphql(default_with = r#"Some("operators".to_owned())"#)]
    pub group: Option<String>,
}

impl From<OutboundAlarmInput> for Alarm {
    fn from(input: OutboundAlarmInput) -> Self {
        Self { message_type: input.message_type, group: input.group.unwrap_or_else(|| "operators".to_owned()) }
    }
}

/// Where a tenant's events go.
#[derive(InputObject)]
pub struct CreateWebhookEndpointInput {
    /// Absolute https URL of at most 2,048 bytes, without user name, password and fragment, whose host is on the public internet or allowed by
    /// whoever runs the server.
    pub url: String,
    /// What it wants to hear of; 20 entries at most. Where it is left out: published, amended and retracted.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whether it is sent the texts of notifications, too, as readers see them. Otherwise ids, types, targets and times alone.
    #[graphql(default_with = "Some(false)")]
    pub full: Option<bool>,
    /// Whom it tells that it was disabled; the log and the figures where it is left out.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<CreateWebhookEndpointInput> for Change {
    fn from(input: CreateWebhookEndpointInput) -> Self {
        Self {
            url: Some(input.url),
            events: input.events.map(events),
            is_full: input.full,
            alarm: input.alarm.map(|alarm| Some(alarm.into())),
        }
    }
}

pub fn events(all: Vec<WebhookEvent>) -> Vec<webhook::Event> {
    all.into_iter().map(Into::into).collect()
}

/// What can be erased of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WebhookEndpointField {
    /// `alarm`: nobody is told.
    Alarm,
}

/// What to change of an endpoint; what is left out, or null, stays.
#[derive(InputObject)]
pub struct UpdateWebhookEndpointInput {
    /// As of a new one. Another one is tried at once, whatever was wrong with the one before.
    pub url: Option<String>,
    /// All that it wants to hear of from now on; 20 entries at most.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whether it is sent the texts of notifications, too.
    pub full: Option<bool>,
    /// Whom it tells that it was disabled.
    pub alarm: Option<OutboundAlarmInput>,
    /// What to erase of it; nothing that is given as well.
    pub clear: Option<Vec<WebhookEndpointField>>,
}

impl UpdateWebhookEndpointInput {
    pub fn change(self) -> Result<Change> {
        let patching = Patching::of(self.clear);
        Ok(Change {
            url: self.url,
            events: self.events.map(events),
            is_full: self.full,
            alarm: patching.change(WebhookEndpointField::Alarm, self.alarm.map(Into::into))?,
        })
    }
}
